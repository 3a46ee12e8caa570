import { Column, Entity, PrimaryColumn } from 'typeorm';

export const CONTACT_ROLES = ['billing', 'technical', 'escalation', 'admin', 'site', 'after_hours', 'portal'] as const;
export type ContactRole = (typeof CONTACT_ROLES)[number];

/** A contact of an organization, or of one of its sites. Has a name, an e-mail address or a number. */
@Entity('contact')
export class Contact {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  /** Null for a contact of the whole organization. */
  @Column('uuid', { name: 'site_id', nullable: true })
  siteId: string | null;

  @Column('text', { nullable: true })
  name: string | null;

  /** Compared instead of the name; empty for a contact without one. */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  /** Lower case. */
  @Column('text', { nullable: true })
  email: string | null;

  @Column('text', { nullable: true })
  phone: string | null;

  @Column('text', { nullable: true })
  mobile: string | null;

  @Column('text', { nullable: true })
  title: string | null;

  @Column('text', { array: true })
  roles: ContactRole[];

  /** True for at most one contact of an organization. */
  @Column('boolean', { name: 'is_primary' })
  isPrimary: boolean;

  @Column('text', { nullable: true })
  notes: string | null;

  /** A trigger sets both times. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;
}
