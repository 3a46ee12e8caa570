import type { OrganizationStatus } from '@rmm/contracts';
import { Column, Entity, PrimaryColumn } from 'typeorm';

export const ORGANIZATION_STATUSES = ['active', 'trial', 'suspended', 'churned', 'offboarding'] as const;
export const ORGANIZATION_TYPES = ['customer', 'internal'] as const;
export type OrganizationType = (typeof ORGANIZATION_TYPES)[number];

/** Whom to bill; fields without a value are null. */
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

  /** What names are compared by. @see name-key.ts */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  /** Unique among the live organizations of a partner. */
  @Column('text')
  slug: string;

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

  /** Made by sign-up; at most one of a partner. */
  @Column('boolean', { name: 'is_first' })
  isFirst: boolean;

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
