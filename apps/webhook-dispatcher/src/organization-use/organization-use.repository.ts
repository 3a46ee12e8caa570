import { Injectable } from '@nestjs/common';
import { tenantOf } from '@rmm/access';
import type { OrganizationsInUseRequest } from '@rmm/contracts';
import { TenantDatabase } from '@rmm/persistence';

/** Looks for webhooks of organizations. */
@Injectable()
export class OrganizationUseRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns those of the organizations that have records which the caller may see, in no order. */
  async listUsed({ caller, partnerId, orgIds }: OrganizationsInUseRequest): Promise<string[]> {
    const rows = await this.tenants.read<{ id: string }>(
      tenantOf(caller),
      `SELECT o.id FROM unnest(:orgIds::uuid[]) AS o(id)
        WHERE EXISTS (SELECT FROM webhook r WHERE r.org_id = o.id AND r.partner_id = :partnerId)`,
      { partnerId, orgIds },
    );
    return rows.map(({ id }) => id);
  }
}
