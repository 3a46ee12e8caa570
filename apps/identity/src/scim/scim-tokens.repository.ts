import { Injectable } from '@nestjs/common';
import type { ScimTokenRecord } from '@rmm/access';
import {
  TenantDatabase,
  TenantRepository,
  WorkerDatabase,
  type PageRequest,
  type PageRows,
  type Source,
  type TenantTransaction,
  type Values,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ScimTokenRow } from './scim-token.entity.js';

/** Tokens of SCIM clients. Row-level security limits administrators to their own; a look-up by hash has no caller yet. */
@Injectable()
export class ScimTokensRepository extends TenantRepository<ScimTokenRow> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, ScimTokenRow, () => new NotFoundError('SCIM token'));
  }

  list(source: Source, providerId: string, page: PageRequest): Promise<PageRows<ScimTokenRow>> {
    return this.listPage(source, { where: { providerId }, page });
  }

  get(source: Source, providerId: string, id: string): Promise<ScimTokenRow> {
    return this.getOne(source, { where: { id, providerId } });
  }

  /** Counts the tokens that have not expired. */
  countValid(source: Source, providerId: string): Promise<number> {
    const valid = { sql: '(scimTokenRow.expiresAt IS NULL OR scimTokenRow.expiresAt > now())' };
    return this.count(source, { where: { providerId }, conditions: [valid] });
  }

  create(tx: TenantTransaction, values: Values<ScimTokenRow>): Promise<ScimTokenRow> {
    return this.insert(tx, values);
  }

  async remove(tx: TenantTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }

  /** Finds a token that has not expired by its hash, whatever its tenant, and notes its use once a minute. */
  async findByHash(tokenHash: Buffer): Promise<ScimTokenRecord | null> {
    const [row] = await this.worker.query<ScimTokenRecord & { isStale: boolean }>(
      `SELECT t.id AS "tokenId", t.provider_id AS "providerId", t.partner_id AS "partnerId", t.org_id AS "orgId",
         p.status = 'active' AND d.status IN ('active', 'trial') AND NOT d.deleted AS "tenantActive",
         coalesce(t.last_used_at < now() - interval '1 minute', TRUE) AS "isStale"
       FROM scim_token t
       JOIN partner p ON p.id = t.partner_id
       JOIN organization_directory d ON d.org_id = t.org_id AND d.partner_id = t.partner_id
       WHERE t.token_hash = :tokenHash AND (t.expires_at IS NULL OR t.expires_at > now())`,
      { tokenHash },
    );
    if (!row) return null;
    const { isStale, ...record } = row;
    if (isStale) {
      await this.worker.query('UPDATE scim_token SET last_used_at = now() WHERE id = :id', { id: record.tokenId });
    }
    return record;
  }
}
