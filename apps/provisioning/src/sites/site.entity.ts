import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { SiteAddress, SiteContact } from './site-details.mapper.js';

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

  /** Compared instead of the name; unique among the live sites of an organization. */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  /** IANA name. */
  @Column('text')
  timezone: string;

  @Column('jsonb', { nullable: true })
  address: SiteAddress | null;

  @Column('jsonb', { nullable: true })
  contact: SiteContact | null;

  @Column('jsonb')
  settings: Record<string, unknown>;

  /** Rises by one with every change; events carry it. */
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
