import { randomUUID } from 'node:crypto';
import type { ApiKeyCaller } from '@rmm/access';

/** Returns a caller with an API key that reads with language models; not restricted. */
export function apiKeyCaller(changes: Partial<ApiKeyCaller> = {}): ApiKeyCaller {
  const [keyId, orgId, partnerId] = [randomUUID(), randomUUID(), randomUUID()];
  return {
    kind: 'api_key',
    actor: { type: 'api_key', id: keyId },
    tenant: { scope: 'organization', partnerId, orgId, orgAccess: 'none', orgIds: [], userId: null },
    keyId,
    orgId,
    partnerId,
    scopes: ['ai:read'],
    siteIds: null,
    deviceGroupIds: null,
    createdBy: null,
    principalId: null,
    ...changes,
  };
}
