import type { ResolvedApiKey, ResolvedPartnerKey } from '@rmm/contracts';
import type { ApiKeyCaller, PartnerKeyCaller } from '../callers/caller.js';

const NO_ORGANIZATIONS: readonly string[] = Object.freeze([]);

/** Maps an API key to its caller: restricted to its organization and to the sites and groups of its creator. */
export function toApiKeyCaller({
  keyId,
  orgId,
  partnerId,
  scopes,
  siteIds,
  deviceGroupIds,
  createdBy,
  principalId,
}: ResolvedApiKey): ApiKeyCaller {
  return {
    kind: 'api_key',
    actor: { type: 'api_key', id: keyId },
    tenant: { scope: 'organization', partnerId, orgId, orgAccess: 'none', orgIds: NO_ORGANIZATIONS, userId: null },
    keyId,
    orgId,
    partnerId,
    scopes,
    siteIds,
    deviceGroupIds,
    createdBy,
    principalId,
  };
}

/** Maps a partner key to its caller: all organizations of the principal's partner. Audit rows name the principal. */
export function toPartnerKeyCaller(record: ResolvedPartnerKey): PartnerKeyCaller {
  const { keyId, keyName, keyPrefix, principalId, principalName, partnerId } = record;
  const { scopes, rateLimit, sourceCidrs, expiresAt } = record;
  return {
    kind: 'partner_key',
    actor: { type: 'api_key', id: principalId },
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: NO_ORGANIZATIONS, userId: null },
    keyId,
    keyName,
    keyPrefix,
    principalId,
    principalName,
    partnerId,
    orgId: null,
    scopes,
    rateLimit,
    sourceCidrs,
    expiresAt,
  };
}
