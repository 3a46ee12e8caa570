import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A record for exports: one that another service published, or one that represents rows of other tables. */
@Entity('export_record')
export class ExportRecord {
  @PrimaryColumn('uuid', { name: 'record_key' })
  recordKey: string;

  @Column('text')
  resource: string;

  /** Unique per partner and resource. */
  @Column('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  /** Null for a record of the partner, which is exported with each of its organizations. */
  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('uuid', { name: 'site_id', nullable: true })
  siteId: string | null;

  @Column('uuid', { name: 'device_id', nullable: true })
  deviceId: string | null;

  /** The time of the change at its publisher; an older message is dropped. */
  @Column('timestamptz', { name: 'source_updated_at' })
  sourceUpdatedAt: Date;

  /** True when rows of other tables have its fields. */
  @Column('boolean')
  reported: boolean;

  /** The published fields; null when they are derived, or the record is deleted. */
  @Column('jsonb', { nullable: true })
  record: object | null;

  /** When it appeared, or appeared again after its deletion. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  /** The export stamp, which a trigger sets. */
  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;

  @Column('timestamptz', { name: 'deleted_at', nullable: true })
  deletedAt: Date | null;
}
