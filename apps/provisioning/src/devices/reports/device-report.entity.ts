import { Column, PrimaryColumn } from 'typeorm';

/** Columns of every report of an agent other than its heartbeat: one row per device, replaced as a whole. */
export abstract class DeviceReport {
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  /** SHA-256 of the contents as they are stored; null when the writer does not compute it. */
  @Column('bytea', { name: 'content_hash', nullable: true, select: false })
  contentHash: Buffer | null;

  /** A trigger sets both times; `updatedAt` is the export stamp. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;
}
