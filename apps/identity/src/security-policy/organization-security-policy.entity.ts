import { Column, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { OrganizationSecurity } from '@rmm/contracts';
import { bigintAsNumber } from '../bigint.transformer.js';

/** The security policy of an organization, whose record is in provisioning. */
@Entity('organization_security_policy')
export class OrganizationSecurityPolicy {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('jsonb', { default: {} })
  settings: { security?: OrganizationSecurity };

  @Column('bigint', { default: 1, transformer: bigintAsNumber })
  version: number;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
