import { Injectable } from '@nestjs/common';
import { tenantOf } from '@rmm/access';
import type { OrganizationsInUseRequest } from '@rmm/contracts';
import { TenantDatabase } from '@rmm/persistence';

/**
 * Reads each table once. A look-up for each organization would be planned as a scan that ends early where one of them has
 * most rows of a table, and read the whole table for the others.
 */
const USED_ORGANIZATIONS = ['organization_membership', 'invitation', 'role', 'sso_provider', 'scim_token']
  .map(
    (table) =>
      `SELECT r.org_id AS id FROM ${table} r WHERE r.org_id = ANY (:orgIds::uuid[]) AND r.partner_id = :partnerId`,
  )
  .join(' UNION ');

/** Looks for members, invitations, roles, login providers or SCIM tokens of organizations. */
@Injectable()
export class OrganizationUseRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns those of the organizations that have records which the caller may see, in no order. */
  async listUsed({ caller, partnerId, orgIds }: OrganizationsInUseRequest): Promise<string[]> {
    const rows = await this.tenants.read<{ id: string }>(tenantOf(caller), USED_ORGANIZATIONS, { partnerId, orgIds });
    return rows.map(({ id }) => id);
  }
}
