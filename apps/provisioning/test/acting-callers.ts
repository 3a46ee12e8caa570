import { randomUUID } from 'node:crypto';
import { type ActingCaller, type ActingUser } from '@rmm/contracts';

/** Returns a partner key in the form in which partner-gateway sends it. */
export const actingPartnerKey = (partnerId: string): Extract<ActingCaller, { kind: 'partner_key' }> => ({
  kind: 'partner_key',
  keyId: randomUUID(),
  principalId: randomUUID(),
  tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [] },
});

/** Returns a user of a partner in the form in which other services send it. */
export const actingUser = (partnerId: string, tenant: Partial<ActingUser['tenant']> = {}): ActingUser => ({
  kind: 'user',
  userId: randomUUID(),
  sessionId: randomUUID(),
  tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], ...tenant },
});
