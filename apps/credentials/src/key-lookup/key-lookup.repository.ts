import { Injectable } from '@nestjs/common';
import type { ResolvedApiKey, ResolvedPartnerKey } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';

/** The part of an API key's record that does not depend on its tenant or creator. */
export type ApiKeyRecord = Omit<ResolvedApiKey, 'kind' | 'expiresAt' | 'status' | 'siteIds' | 'deviceGroupIds'>;

export interface ApiKeyLookupRow extends ApiKeyRecord {
  storedStatus: 'active' | 'revoked' | 'expired';
  /** Stored as active although `expiresAt` has passed. */
  expired: boolean;
  expiresAt: Date | null;
  /** null for a key without service principal. */
  principalActive: boolean | null;
  principalScopes: string[] | null;
}

export type PartnerKeyLookupRow = Omit<ResolvedPartnerKey, 'kind' | 'expiresAt' | 'generation'> & {
  expiresAt: Date | null;
};

/** Returns SQL for the time left until a time, by the clock of the database; null for none. */
const millisecondsUntil = (time: string): string =>
  `floor(extract(epoch FROM (${time}) - now()) * 1000)::double precision`;

/** Finds keys by hash, before any tenant is known. SQL, because each look-up joins what decides about the key. */
@Injectable()
export class KeyLookupRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Finds a key by its hash, or by the hash before its last rotation while that works. */
  async findApiKey(keyHash: Buffer): Promise<ApiKeyLookupRow | null> {
    const [row] = await this.worker.query<ApiKeyLookupRow>(
      `SELECT k.id AS "keyId", k.org_id AS "orgId", k.partner_id AS "partnerId", k.scopes, k.rate_limit AS "rateLimit",
         CASE WHEN k.key_hash = :keyHash THEN k.expires_at ELSE least(k.expires_at, k.previous_valid_until) END
           AS "expiresAt",
         ${millisecondsUntil('CASE WHEN k.key_hash = :keyHash THEN k.expires_at ELSE least(k.expires_at, k.previous_valid_until) END')}
           AS "expiresInMs",
         k.source_cidrs AS "sourceCidrs", k.generation, k.created_by AS "createdBy", k.principal_id AS "principalId",
         k.status AS "storedStatus", k.status = 'active' AND coalesce(k.expires_at <= now(), false) AS expired,
         s.status = 'active' AS "principalActive", s.scopes AS "principalScopes"
       FROM api_key k
       LEFT JOIN service_principal s ON s.id = k.principal_id
       WHERE k.key_hash = :keyHash OR (k.previous_key_hash = :keyHash AND k.previous_valid_until > now())`,
      { keyHash },
    );
    return row ?? null;
  }

  async findPartnerKey(keyHash: Buffer): Promise<PartnerKeyLookupRow | null> {
    const [row] = await this.worker.query<PartnerKeyLookupRow>(
      `SELECT k.id AS "keyId", k.name AS "keyName", k.key_prefix AS "keyPrefix", s.id AS "principalId",
         s.name AS "principalName", k.partner_id AS "partnerId", s.scopes,
         k.rate_limit AS "rateLimit", least(k.expires_at, s.expires_at) AS "expiresAt",
         ${millisecondsUntil('least(k.expires_at, s.expires_at)')} AS "expiresInMs",
         s.source_cidrs AS "sourceCidrs",
         CASE WHEN k.status = 'revoked' THEN 'revoked'
              WHEN s.status = 'disabled' THEN 'disabled'
              WHEN least(k.expires_at, s.expires_at) <= now() THEN 'expired'
              ELSE 'active' END AS status
       FROM partner_principal_key k
       JOIN partner_principal s ON s.id = k.principal_id
       WHERE k.key_hash = :keyHash`,
      { keyHash },
    );
    return row ?? null;
  }
}
