import type { UserCaller } from '@rmm/access';
import { randomUUID } from 'node:crypto';

/** Builds a partner member with access to all organizations, for repository specs. */
export const buildPartnerCaller = (partnerId: string, tenant: Partial<UserCaller['tenant']> = {}): UserCaller =>
  ({
    userId: randomUUID(),
    siteIds: null,
    deviceGroupIds: null,
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null, ...tenant },
  }) as unknown as UserCaller;
