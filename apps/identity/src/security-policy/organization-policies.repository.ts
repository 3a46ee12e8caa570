import { Injectable } from '@nestjs/common';
import type { OrganizationSecurity, PartnerSecurity } from '@rmm/contracts';
import type { SqlExecutor } from '@rmm/persistence';

/** Policies of organizations, and what their partners say. Under the worker login. */
@Injectable()
export class OrganizationPoliciesRepository {
  /** Null when there is no such partner. */
  async findPartnerPolicy(tx: SqlExecutor, partnerId: string): Promise<PartnerSecurity | null> {
    const [row] = await tx.query<{ security: PartnerSecurity | null }>(
      `select settings -> 'security' as security from partner where id = $1`,
      [partnerId],
    );
    return row ? (row.security ?? {}) : null;
  }

  /** Version 0 where none was ever set. */
  async find(tx: SqlExecutor, orgId: string): Promise<{ security: OrganizationSecurity; version: number }> {
    const [row] = await tx.query<{ security: OrganizationSecurity | null; version: string }>(
      `select settings -> 'security' as security, version from organization_security_policy where org_id = $1`,
      [orgId],
    );
    return { security: row?.security ?? {}, version: Number(row?.version ?? 0) };
  }

  /** @returns the new version; null when the organization is known as another partner's */
  async save(
    tx: SqlExecutor,
    { orgId, partnerId, security }: { orgId: string; partnerId: string; security: OrganizationSecurity },
  ): Promise<number | null> {
    const [row] = await tx.query<{ version: string }>(
      `insert into organization_security_policy as p (org_id, partner_id, settings) values ($1, $2, $3)
       on conflict (org_id) do update set settings = excluded.settings, version = p.version + 1, updated_at = now()
         where p.partner_id = excluded.partner_id
       returning version`,
      [orgId, partnerId, JSON.stringify({ security })],
    );
    return row ? Number(row.version) : null;
  }
}
