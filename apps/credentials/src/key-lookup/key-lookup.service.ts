import { Injectable } from '@nestjs/common';
import type { ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { isWildcardScope } from '@rmm/permissions';
import { UnavailableError } from '@rmm/service-kit';
import { ApiKeyExpiryService } from '../api-keys/api-key-expiry.service.js';
import { KeyCreatorPolicy } from '../api-keys/key-creator.policy.js';
import { KeyLookupRepository } from './key-lookup.repository.js';

/**
 * Resolves keys by their hash, before any tenant is known. The kind of a credential is decided by the table it is stored
 * in, never by its prefix.
 * @see docs/reference/keys.md
 */
@Injectable()
export class KeyLookupService {
  constructor(
    private readonly repository: KeyLookupRepository,
    private readonly expiry: ApiKeyExpiryService,
    private readonly creators: KeyCreatorPolicy,
  ) {}

  /**
   * @param keyHashHex SHA-256 of the key, 64 hex characters
   * @returns null when no key has that hash
   * @throws UnavailableError while its tenant is unknown here, or identity cannot be reached
   */
  async resolve(keyHashHex: string): Promise<ResolvedKey | null> {
    const keyHash = Buffer.from(keyHashHex, 'hex');
    return (await this.resolveApiKey(keyHash)) ?? (await this.resolvePartnerKey(keyHash));
  }

  private async resolveApiKey(keyHash: Buffer): Promise<ResolvedApiKey | null> {
    const row = await this.repository.findApiKey(keyHash);
    if (!row) return null;
    const { storedStatus, expired, expiresAt, organizationActive, partnerStatus, principalActive, ...rest } = row;
    const { principalScopes, ...record } = rest;
    const scopes = record.scopes.filter(
      (scope) => !isWildcardScope(scope) && (principalScopes?.includes(scope) ?? true),
    );
    const unrestricted = { siteIds: null, deviceGroupIds: null };
    const key = { kind: 'api_key', ...record, scopes, expiresAt: toIso(expiresAt), ...unrestricted } as const;
    if (storedStatus !== 'active') return { ...key, status: storedStatus };
    if (expired) {
      await this.expiry.expire([row.keyId]);
      return { ...key, status: 'expired' };
    }
    // events of a new tenant may not have arrived yet: "try again later", not "unknown key"
    if (organizationActive === null || partnerStatus === null) throw new UnavailableError();
    if (!organizationActive || partnerStatus !== 'active') return { ...key, status: 'unauthorized' };
    if (principalActive !== null) return { ...key, status: principalActive ? 'active' : 'unauthorized' };
    const restriction = await this.creators.findRestriction({ ...record, scopes });
    return restriction ? { ...key, ...restriction, status: 'active' } : { ...key, status: 'unauthorized' };
  }

  private async resolvePartnerKey(keyHash: Buffer): Promise<ResolvedPartnerKey | null> {
    const row = await this.repository.findPartnerKey(keyHash);
    if (!row) return null;
    const { partnerStatus, expiresAt, ...key } = row;
    if (partnerStatus === null) throw new UnavailableError();
    if (partnerStatus !== 'active') return null;
    return { kind: 'partner_key', ...key, generation: 1, expiresAt: toIso(expiresAt) };
  }
}

function toIso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
