import { Injectable } from '@nestjs/common';
import type { OrganizationSecurityState } from '@rmm/contracts';
import type { SqlExecutor } from '@rmm/persistence';

/** An organization that is not ours to know gets no copy. */
const UPSERT = `
  insert into organization_security as s (org_id, partner_id, security, version)
  select o.id, o.partner_id, $3, $4 from organization o where o.id = $1 and o.partner_id = $2
  on conflict (org_id) do update set security = excluded.security, version = excluded.version, updated_at = now()
  where s.version < excluded.version`;

/** The copy of identity's security policies. */
@Injectable()
export class OrganizationSecurityRepository {
  /** Keeps the newest; an older one changes nothing. */
  async project(tx: SqlExecutor, { orgId, partnerId, security, version }: OrganizationSecurityState): Promise<void> {
    await tx.query(UPSERT, [orgId, partnerId, JSON.stringify(security), version]);
  }
}
