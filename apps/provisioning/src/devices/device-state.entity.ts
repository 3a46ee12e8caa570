import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeviceStatus } from './device.entity.js';

/** The part of a device that its heartbeats report; a row of its own, since it is the most frequent write. */
@Entity('device_state')
export class DeviceState {
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('text')
  status: DeviceStatus;

  @Column('text', { name: 'agent_version', nullable: true })
  agentVersion: string | null;

  @Column('timestamptz', { name: 'last_seen_at', nullable: true })
  lastSeenAt: Date | null;

  /** The hour of `lastSeenAt`, minus infinity without one, for the order of lists. Computed by the database. */
  @Column({ type: 'timestamptz', name: 'last_seen_hour', select: false, insert: false, update: false })
  lastSeenHour: Date | number;

  @Column('jsonb', { nullable: true })
  metrics: Record<string, unknown> | null;

  /** When the offline sweep looks at the device next; null unless it is online. Heartbeats do not change it. */
  @Column('timestamptz', { name: 'offline_check_at', nullable: true })
  offlineCheckAt: Date | null;

  /** True when commands may wait for the agent: a heartbeat without them needs no other statement. */
  @Column('boolean', { name: 'has_commands' })
  hasCommands: boolean;
}
