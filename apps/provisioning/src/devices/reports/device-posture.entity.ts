import { Column, Entity } from 'typeorm';
import { DeviceReport } from './device-report.entity.js';

/** The latest scan of a device for other management tools. */
@Entity('device_posture')
export class DevicePosture extends DeviceReport {
  @Column('timestamptz', { name: 'collected_at' })
  collectedAt: Date;

  @Column('integer', { name: 'scan_duration_ms', nullable: true })
  scanDurationMs: number | null;

  @Column('jsonb', { nullable: true })
  identity: Record<string, unknown> | null;

  @Column('jsonb', { nullable: true })
  errors: unknown;

  /** Category, name and status of each product that was found: what the counters count. */
  @Column('jsonb')
  detections: [category: string, name: string, status: string][];

  /** False for a decommissioned device, which does not count. A trigger sets it. */
  @Column('boolean', { name: 'is_active' })
  isActive: boolean;
}
