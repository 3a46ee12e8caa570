import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';
import type { PartnerStatus } from '@rmm/contracts';
import { bigintAsNumber } from '../bigint.transformer.js';

export const PARTNER_TYPES = ['msp', 'enterprise', 'internal'] as const;
export type PartnerType = (typeof PARTNER_TYPES)[number];

export const PARTNER_STATUSES = [
  'pending',
  'active',
  'suspended',
  'churned',
  'offboarding',
] as const satisfies readonly PartnerStatus[];

/** A managed service provider, or another company that manages devices of organizations. */
@Entity('partner')
export class Partner {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('text')
  slug: string;

  @Column('text', { default: 'msp' })
  type: PartnerType;

  @Column('text', { default: 'standard' })
  plan: string;

  @Column('text', { default: 'active' })
  status: PartnerStatus;

  @Column('jsonb', { default: {} })
  settings: Record<string, unknown>;

  /** Null is no cap. */
  @Column('integer', { name: 'max_organizations', nullable: true })
  maxOrganizations: number | null;

  @Column('integer', { name: 'max_devices', nullable: true })
  maxDevices: number | null;

  @Column('text', { default: 'UTC' })
  timezone: string;

  @Column('text', { name: 'billing_email', nullable: true })
  billingEmail: string | null;

  @Column('text', { name: 'currency_code', default: 'USD' })
  currencyCode: string;

  /** The IP address of the registration. */
  @Column('text', { name: 'signup_ip', nullable: true, select: false })
  signupIp: string | null;

  @Column('bigint', { default: 1, transformer: bigintAsNumber })
  version: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
