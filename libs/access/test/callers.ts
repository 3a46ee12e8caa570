import type { AccessSnapshot } from '@rmm/contracts';
import type { ApiKeyCaller, UserCaller } from '../src/callers/caller.js';
import { AccessEntry } from '../src/snapshots/access-entry.js';
import { PARTNER_ID, ROLE_ID } from './tokens.js';

/** Builds the snapshot of a partner admin with the given changes. */
export function snapshot(changes: Partial<AccessSnapshot> = {}): AccessSnapshot {
  return {
    userId: '11111111-1111-4111-8111-111111111111',
    email: 'ada@msp.example',
    sessionId: '22222222-2222-4222-8222-222222222222',
    userStatus: 'active',
    sessionRevoked: false,
    authEpoch: 1,
    mfaEpoch: 1,
    passwordChangedAt: null,
    membershipExists: true,
    scope: 'partner',
    partnerId: PARTNER_ID,
    partnerStatus: 'active',
    orgId: null,
    roleId: ROLE_ID,
    orgAccess: 'all',
    orgIds: [],
    siteIds: null,
    deviceGroupIds: null,
    permissions: ['*:*'],
    hasFactor: true,
    mfaEnrollmentRequired: false,
    allowedMfaMethods: ['totp', 'sms', 'passkey'],
    ipAllowlist: [],
    version: 1,
    ...changes,
  };
}

export function userCaller(changes: Partial<AccessSnapshot> = {}, mfa = true): UserCaller {
  return new AccessEntry(snapshot(changes)).caller(mfa);
}

/** A caller with an API key of the organization `o` of the partner `p`. */
export const KEY_CALLER: ApiKeyCaller = {
  kind: 'api_key',
  actor: { type: 'api_key', id: 'k' },
  tenant: { scope: 'organization', partnerId: 'p', orgId: 'o', orgAccess: 'none', orgIds: [], userId: null },
  keyId: 'k',
  orgId: 'o',
  partnerId: 'p',
  scopes: [],
  siteIds: null,
  deviceGroupIds: null,
  createdBy: null,
  principalId: null,
};
