import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OrganizationSecurity } from '@rmm/contracts';

/** A copy of the security policy that identity stores for an organization, shown as `settings.security`. */
@Entity('organization_security')
export class OrganizationSecurityCopy {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('jsonb')
  security: OrganizationSecurity;

  /** Version of the policy it was stored from. */
  @Column('bigint')
  version: string;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;
}
