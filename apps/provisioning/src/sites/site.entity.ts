import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { SiteAddress, SiteContact } from './site-details.js';

@Entity('site')
export class Site {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('text')
  name: string;

  /** What names are compared by; unique among the live sites of an organization. */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  /** IANA. */
  @Column('text')
  timezone: string;

  @Column('jsonb', { nullable: true })
  address: SiteAddress | null;

  @Column('jsonb', { nullable: true })
  contact: SiteContact | null;

  @Column('jsonb')
  settings: Record<string, unknown>;

  /** Rises by one with every change; facts carry it. */
  @Column('bigint')
  version: string;

  /** Both times are stamped by the database. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;

  @Column('timestamptz', { name: 'deleted_at', nullable: true })
  deletedAt: Date | null;
}
