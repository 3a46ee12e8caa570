import { Injectable } from '@nestjs/common';
import type { KeyUsageRequest, ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';

type PartnerKeyRow = Omit<ResolvedPartnerKey, 'kind' | 'expiresAt'> & {
  expiresAt: Date | null;
  partnerStatus: string | null;
};

const TABLE = { api_key: 'api_key', partner_key: 'partner_principal_key' } as const;

/**
 * Look-up of a key by its hash, before any tenant is known, and the counters of its use. The kind of a credential comes
 * from the table it stands in, never from its prefix.
 */
@Injectable()
export class KeyRecordsService {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @returns null when no key has that hash, or its tenant is not in force */
  async resolve(keyHashHex: string): Promise<ResolvedKey | null> {
    if (!/^[0-9a-f]{64}$/.test(keyHashHex)) return null;
    const keyHash = Buffer.from(keyHashHex, 'hex');
    return (await this.findApiKey(keyHash)) ?? (await this.findPartnerKey(keyHash));
  }

  /** Adds a batch of uses. @returns how many keys were touched */
  async recordUsage({ uses }: KeyUsageRequest): Promise<number> {
    let recorded = 0;
    for (const [kind, table] of Object.entries(TABLE)) {
      const batch = uses.filter((use) => use.kind === kind).sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
      if (!batch.length) continue;
      const rows = await this.worker.query(
        `WITH used AS (
           SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS u(id, count, last_used_at)
         ), locked AS (
           SELECT id FROM ${table} WHERE id IN (SELECT id FROM used) ORDER BY id FOR UPDATE
         )
         UPDATE ${table} k SET usage_count = k.usage_count + used.count,
           last_used_at = greatest(k.last_used_at, used.last_used_at)
         FROM used JOIN locked USING (id) WHERE k.id = used.id RETURNING k.id`,
        [batch.map((use) => use.keyId), batch.map((use) => use.count), batch.map((use) => use.lastUsedAt)],
      );
      recorded += rows.length;
    }
    return recorded;
  }

  private async findApiKey(keyHash: Buffer): Promise<ResolvedApiKey | null> {
    const [row] = await this.worker.query<Omit<ResolvedApiKey, 'kind' | 'expiresAt'> & { expiresAt: Date | null }>(
      `SELECT k.id AS "keyId", k.org_id AS "orgId", k.partner_id AS "partnerId", k.scopes, k.rate_limit AS "rateLimit",
         k.expires_at AS "expiresAt", k.created_by AS "createdBy", k.principal_id AS "principalId",
         CASE WHEN k.status = 'active' AND k.expires_at <= now() THEN 'expired' ELSE k.status END AS status
       FROM api_key k
       JOIN organization_directory o ON o.org_id = k.org_id AND o.status IN ('active', 'trial') AND NOT o.deleted
       JOIN partner_directory p ON p.partner_id = k.partner_id AND p.status = 'active'
       WHERE k.key_hash = $1`,
      [keyHash],
    );
    return row ? { kind: 'api_key', ...row, expiresAt: row.expiresAt?.toISOString() ?? null } : null;
  }

  private async findPartnerKey(keyHash: Buffer): Promise<ResolvedPartnerKey | null> {
    const [row] = await this.worker.query<PartnerKeyRow>(
      `SELECT k.id AS "keyId", s.id AS "principalId", k.partner_id AS "partnerId", s.scopes,
         k.rate_limit AS "rateLimit", least(k.expires_at, s.expires_at) AS "expiresAt",
         s.source_cidrs AS "sourceCidrs",
         p.status AS "partnerStatus",
         CASE WHEN k.status = 'revoked' THEN 'revoked'
              WHEN s.status = 'disabled' THEN 'disabled'
              WHEN least(k.expires_at, s.expires_at) <= now() THEN 'expired'
              ELSE 'active' END AS status
       FROM partner_principal_key k
       JOIN partner_principal s ON s.id = k.principal_id
       LEFT JOIN partner_directory p ON p.partner_id = k.partner_id
       WHERE k.key_hash = $1`,
      [keyHash],
    );
    if (!row) return null;
    const { partnerStatus, expiresAt, ...key } = row;
    // the fact of a new partner may still be on its way: say "later", never "unknown"
    if (partnerStatus === null) throw new UnavailableError();
    return partnerStatus === 'active'
      ? { kind: 'partner_key', ...key, expiresAt: expiresAt?.toISOString() ?? null }
      : null;
  }
}
