import { Injectable } from '@nestjs/common';
import type { ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { isWildcardScope } from '@rmm/permissions';
import { WorkerDatabase } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';
import { ApiKeyExpiry } from '../api-keys/api-key-expiry.js';
import { CreatorAuthority } from '../api-keys/creator-authority.js';

type Facts = Omit<ResolvedApiKey, 'kind' | 'expiresAt' | 'status' | 'siteIds' | 'deviceGroupIds'>;

interface ApiKeyRow extends Facts {
  stored: 'active' | 'revoked' | 'expired';
  lapsed: boolean;
  expiresAt: Date | null;
  organizationLive: boolean | null;
  partnerStatus: string | null;
  principalActive: boolean | null;
  principalScopes: string[] | null;
}

type PartnerKeyRow = Omit<ResolvedPartnerKey, 'kind' | 'expiresAt' | 'generation'> & {
  expiresAt: Date | null;
  partnerStatus: string | null;
};

/** $1 is the hash of a key, or of its predecessor while both work. */
const FIND_API_KEY = `
  SELECT k.id AS "keyId", k.org_id AS "orgId", k.partner_id AS "partnerId", k.scopes, k.rate_limit AS "rateLimit",
    CASE WHEN k.key_hash = $1 THEN k.expires_at ELSE least(k.expires_at, k.previous_valid_until) END AS "expiresAt",
    k.source_cidrs AS "sourceCidrs", k.generation, k.created_by AS "createdBy", k.principal_id AS "principalId",
    k.status AS stored, k.status = 'active' AND coalesce(k.expires_at <= now(), false) AS lapsed,
    o.status IN ('active', 'trial') AND NOT o.deleted AS "organizationLive", p.status AS "partnerStatus",
    s.status = 'active' AS "principalActive", s.scopes AS "principalScopes"
  FROM api_key k
  LEFT JOIN organization_directory o ON o.org_id = k.org_id
  LEFT JOIN partner_directory p ON p.partner_id = k.partner_id
  LEFT JOIN service_principal s ON s.id = k.principal_id
  WHERE k.key_hash = $1 OR (k.previous_key_hash = $1 AND k.previous_valid_until > now())`;

const FIND_PARTNER_KEY = `
  SELECT k.id AS "keyId", s.id AS "principalId", k.partner_id AS "partnerId", s.scopes,
    k.rate_limit AS "rateLimit", least(k.expires_at, s.expires_at) AS "expiresAt",
    s.source_cidrs AS "sourceCidrs", p.status AS "partnerStatus",
    CASE WHEN k.status = 'revoked' THEN 'revoked'
         WHEN s.status = 'disabled' THEN 'disabled'
         WHEN least(k.expires_at, s.expires_at) <= now() THEN 'expired'
         ELSE 'active' END AS status
  FROM partner_principal_key k
  JOIN partner_principal s ON s.id = k.principal_id
  LEFT JOIN partner_directory p ON p.partner_id = k.partner_id
  WHERE k.key_hash = $1`;

/**
 * Look-up of a key by its hash, before any tenant is known. The kind of a credential comes from the table it stands in,
 * never from its prefix.
 * @see CONTRACT.md 4.1, 4.4.1
 */
@Injectable()
export class KeyLookup {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly expiry: ApiKeyExpiry,
    private readonly authority: CreatorAuthority,
  ) {}

  /**
   * @returns null when no key has that hash
   * @throws UnavailableError  while its tenant is not known here yet, or identity cannot be asked
   */
  async resolve(keyHashHex: string): Promise<ResolvedKey | null> {
    if (!/^[0-9a-f]{64}$/.test(keyHashHex)) return null;
    const keyHash = Buffer.from(keyHashHex, 'hex');
    return (await this.findApiKey(keyHash)) ?? (await this.findPartnerKey(keyHash));
  }

  private async findApiKey(keyHash: Buffer): Promise<ResolvedApiKey | null> {
    const [row] = await this.worker.query<ApiKeyRow>(FIND_API_KEY, [keyHash]);
    if (!row) return null;
    const { stored, lapsed, expiresAt, organizationLive, partnerStatus, principalActive, principalScopes, ...facts } =
      row;
    const scopes = facts.scopes.filter(
      (scope) => !isWildcardScope(scope) && (principalScopes?.includes(scope) ?? true),
    );
    const free = { siteIds: null, deviceGroupIds: null };
    const key = { kind: 'api_key', ...facts, scopes, expiresAt: isoOf(expiresAt), ...free } as const;
    if (stored !== 'active') return { ...key, status: stored };
    if (lapsed) {
      await this.expiry.mark([row.keyId]);
      return { ...key, status: 'expired' };
    }
    // facts of a new tenant may still be on their way: say "later", never "unknown"
    if (organizationLive === null || partnerStatus === null) throw new UnavailableError();
    if (!organizationLive || partnerStatus !== 'active') return { ...key, status: 'unauthorized' };
    if (principalActive !== null) return { ...key, status: principalActive ? 'active' : 'unauthorized' };
    const confinement = await this.authority.of({ ...facts, scopes });
    return confinement ? { ...key, ...confinement, status: 'active' } : { ...key, status: 'unauthorized' };
  }

  private async findPartnerKey(keyHash: Buffer): Promise<ResolvedPartnerKey | null> {
    const [row] = await this.worker.query<PartnerKeyRow>(FIND_PARTNER_KEY, [keyHash]);
    if (!row) return null;
    const { partnerStatus, expiresAt, ...key } = row;
    if (partnerStatus === null) throw new UnavailableError();
    return partnerStatus === 'active'
      ? { kind: 'partner_key', ...key, generation: 1, expiresAt: isoOf(expiresAt) }
      : null;
  }
}

const isoOf = (at: Date | null): string | null => at?.toISOString() ?? null;
