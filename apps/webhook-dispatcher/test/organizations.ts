import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';

export interface Organization {
  orgId: string;
  partnerId: string;
}

/** Returns a member of a partner who reads and writes in all its organizations, or in the given ones. */
export function partnerCaller(partnerId: string, orgIds?: readonly string[]): UserCaller {
  const access = { orgAccess: orgIds ? ('selected' as const) : ('all' as const), orgIds: orgIds ?? [] };
  const caller = organizationCaller({ orgId: '', partnerId });
  const changes = { scope: 'partner' as const, orgId: null, ...access };
  return { ...caller, ...changes, tenant: { ...caller.tenant, ...changes } };
}

/** Returns a member of an organization who reads and writes. */
export function organizationCaller({ orgId, partnerId }: Organization): UserCaller {
  const userId = randomUUID();
  const tenant = { userId, scope: 'organization' as const, partnerId, orgId, orgAccess: 'none' as const, orgIds: [] };
  return {
    ...tenant,
    tenant,
    kind: 'user',
    actor: { type: 'user', id: userId, email: 'user@example.com' },
    email: 'user@example.com',
    sessionId: randomUUID(),
    roleId: null,
    siteIds: null,
    deviceGroupIds: null,
    permissions: new Set(['organizations:read', 'organizations:write'] as const),
    mfa: true,
    hasFactor: true,
  };
}
