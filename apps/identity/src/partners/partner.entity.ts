import type { PartnerStatus } from '@rmm/contracts';
import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';

export const PARTNER_TYPES = ['msp', 'enterprise', 'internal'] as const;
export type PartnerType = (typeof PARTNER_TYPES)[number];

export const PARTNER_STATUSES = [
  'pending',
  'active',
  'suspended',
  'churned',
  'offboarding',
] as const satisfies readonly PartnerStatus[];

const toNumber = { from: Number, to: (value: number) => value };

@Entity('partner')
export class Partner {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('text')
  slug: string;

  @Column('text')
  type: PartnerType;

  @Column('text')
  plan: string;

  @Column('text')
  status: PartnerStatus;

  @Column('jsonb')
  settings: Record<string, unknown>;

  /** Caps; null means none. */
  @Column('integer', { name: 'max_organizations', nullable: true })
  maxOrganizations: number | null;

  @Column('integer', { name: 'max_devices', nullable: true })
  maxDevices: number | null;

  @Column('text')
  timezone: string;

  @Column('text', { name: 'billing_email', nullable: true })
  billingEmail: string | null;

  @Column('text', { name: 'currency_code' })
  currencyCode: string;

  @Column('bigint', { transformer: toNumber })
  version: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
