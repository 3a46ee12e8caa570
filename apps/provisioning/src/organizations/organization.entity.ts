import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OrganizationStatus } from '@rmm/contracts';

export const ORGANIZATION_STATUSES = ['active', 'trial', 'suspended', 'churned', 'offboarding'] as const;
export const ORGANIZATION_TYPES = ['customer', 'internal'] as const;
export type OrganizationType = (typeof ORGANIZATION_TYPES)[number];

/** The contact for invoices; fields without a value are null. */
export interface BillingContact {
  name: string | null;
  email: string | null;
  phone: string | null;
}

@Entity('organization')
export class Organization {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('text')
  name: string;

  /** Compared instead of the name. @see name-key.ts */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  /** Unique among the live organizations of a partner. */
  @Column('text')
  slug: string;

  /** The slug without a number at its end. Computed by the database. */
  @Column({ type: 'text', name: 'slug_base', select: false, insert: false, update: false })
  slugBase: string;

  @Column('text')
  type: OrganizationType;

  @Column('text')
  status: OrganizationStatus;

  @Column('jsonb')
  settings: Record<string, unknown>;

  @Column('timestamptz', { name: 'contract_start', nullable: true })
  contractStart: Date | null;

  @Column('timestamptz', { name: 'contract_end', nullable: true })
  contractEnd: Date | null;

  @Column('jsonb', { name: 'billing_contact', nullable: true })
  billingContact: BillingContact | null;

  /** Created by sign-up; at most one per partner. */
  @Column('boolean', { name: 'is_first' })
  isFirst: boolean;

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

  /** When it could no longer be restored; once its erasure has begun, the row remains as a tombstone without data of the customer. */
  @Column('timestamptz', { name: 'erased_at', nullable: true })
  erasedAt: Date | null;

  /** The export stamp of its share in the records of the partner. A trigger sets it. */
  @Column({ type: 'timestamptz', name: 'visible_at', select: false, insert: false, update: false })
  visibleAt: Date;

  /** True when it was deleted by undoing the import that created it: an import does not match it. */
  @Column('boolean', { name: 'import_undone' })
  importUndone: boolean;
}
