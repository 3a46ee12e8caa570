import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A named set of devices of an organization. */
@Entity('device_group')
export class DeviceGroup {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'site_id', nullable: true })
  siteId: string | null;

  @Column('text')
  name: string;

  /** Compared instead of the name; unique among the live groups of an organization. */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  @Column('text', { nullable: true })
  description: string | null;

  /** Rises by one with every change. */
  @Column('bigint')
  version: string;

  /** A trigger sets both times. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;

  @Column('timestamptz', { name: 'deleted_at', nullable: true })
  deletedAt: Date | null;
}
