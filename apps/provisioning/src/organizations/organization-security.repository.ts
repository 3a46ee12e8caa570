import { Injectable } from '@nestjs/common';
import type { OrganizationSecurityState } from '@rmm/contracts';
import type { SqlExecutor } from '@rmm/persistence';

/** Selects from organization, so that an unknown organization, or one of another partner, gets no copy. */
const UPSERT = `
  INSERT INTO organization_security AS s (org_id, partner_id, security, version)
  SELECT o.id, o.partner_id, :security, :version FROM organization o WHERE o.id = :orgId AND o.partner_id = :partnerId
  ON CONFLICT (org_id) DO UPDATE SET security = excluded.security, version = excluded.version, updated_at = now()
  WHERE s.version < excluded.version`;

/** Copies of the security policies of identity. */
@Injectable()
export class OrganizationSecurityRepository {
  /** Returns the version of the stored policy; 0 without one. */
  async findVersion(executor: SqlExecutor, orgId: string): Promise<number> {
    const sql = 'SELECT s.version::int AS version FROM organization_security s WHERE s.org_id = :orgId';
    const [policy] = await executor.query<{ version: number }>(sql, { orgId });
    return policy?.version ?? 0;
  }

  /** Stores a policy unless a newer one is stored. */
  async save(tx: SqlExecutor, { security, ...state }: OrganizationSecurityState): Promise<void> {
    await tx.query(UPSERT, { ...state, security: JSON.stringify(security) });
  }
}
