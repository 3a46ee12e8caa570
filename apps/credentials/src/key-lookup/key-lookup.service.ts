import { Injectable } from '@nestjs/common';
import { isLive, OrganizationDirectory, PartnerDirectory } from '@rmm/access';
import type { ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { isWildcardScope } from '@rmm/permissions';
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
    private readonly organizations: OrganizationDirectory,
    private readonly partners: PartnerDirectory,
  ) {}

  /**
   * @param keyHashHex SHA-256 of the key, 64 hex characters
   * @returns null when no key has that hash
   * @throws UnavailableError while the state of its tenant is not known, or identity cannot be reached
   */
  async resolve(keyHashHex: string): Promise<ResolvedKey | null> {
    const keyHash = Buffer.from(keyHashHex, 'hex');
    return (await this.resolveApiKey(keyHash)) ?? (await this.resolvePartnerKey(keyHash));
  }

  private async resolveApiKey(keyHash: Buffer): Promise<ResolvedApiKey | null> {
    const row = await this.repository.findApiKey(keyHash);
    if (!row) return null;
    const { storedStatus, expired, expiresAt, principalActive, ...rest } = row;
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
    if (!(await this.isTenantActive(row))) return { ...key, status: 'unauthorized' };
    if (principalActive !== null) return { ...key, status: principalActive ? 'active' : 'unauthorized' };
    const restriction = await this.creators.findRestriction({ ...record, scopes });
    return restriction ? { ...key, ...restriction, status: 'active' } : { ...key, status: 'unauthorized' };
  }

  /** Returns false also for a tenant that does not exist, or an organization of another partner. */
  private async isTenantActive({ orgId, partnerId }: { orgId: string; partnerId: string }): Promise<boolean> {
    const [organization, partner] = await Promise.all([this.organizations.find(orgId), this.partners.find(partnerId)]);
    if (organization?.partnerId !== partnerId || partner?.status !== 'active') return false;
    return isLive(organization);
  }

  private async resolvePartnerKey(keyHash: Buffer): Promise<ResolvedPartnerKey | null> {
    const row = await this.repository.findPartnerKey(keyHash);
    if (!row) return null;
    const { expiresAt, ...key } = row;
    const partner = await this.partners.find(key.partnerId);
    if (partner?.status !== 'active') return null;
    return { kind: 'partner_key', ...key, generation: 1, expiresAt: toIso(expiresAt) };
  }
}

function toIso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
