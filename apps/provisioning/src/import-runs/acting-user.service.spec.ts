import type { Caller, UserCaller } from '@rmm/access';
import { assertMayImport, ActingUserService, toActingSession } from './acting-user.service.js';
import type { ActingUserSession, ImportKind, ImportRun } from './import-run.entity.js';

const SESSION: ActingUserSession = {
  userId: 'u-1',
  sessionId: 's-1',
  scope: 'partner',
  partnerId: 'p-1',
  orgId: null,
  mfa: true,
};
const ALL_PERMISSIONS = ['organizations:write', 'sites:write'];

const userCaller = (permissions = ALL_PERMISSIONS, orgAccess: 'all' | 'selected' = 'all'): UserCaller =>
  ({ kind: 'user', ...SESSION, permissions: new Set(permissions), tenant: { ...SESSION, orgAccess } }) as never;
const API_KEY = { kind: 'api_key', tenant: { scope: 'organization' } } as Caller;

describe('toActingSession', () => {
  it('keeps what finds the session again and nothing else', () => {
    expect(toActingSession({ ...userCaller(), email: 'ada@msp.example' })).toEqual(SESSION);
  });

  it('refuses an API key', () => {
    expect(() => toActingSession(API_KEY)).toThrow(expect.objectContaining({ code: 'permission_denied' }));
  });
});

describe('assertMayImport', () => {
  it.each<[string, Caller, ImportKind, string | null]>([
    ['both permissions', userCaller(), 'organizations', null],
    ['no permission for sites', userCaller(['organizations:write']), 'organizations', 'PermissionDenied'],
    ['selected organizations', userCaller(ALL_PERMISSIONS, 'selected'), 'organizations', 'FullPartnerAccessRequired'],
    ['selected organizations', userCaller(['organizations:write'], 'selected'), 'contacts', null],
    ['no permission for organizations', userCaller(['sites:write']), 'contacts', 'PermissionDenied'],
    ['an API key', API_KEY, 'contacts', 'PermissionDenied'],
  ])('checks a caller with %s (%#)', (_, caller, kind, refusal) => {
    const check = () => assertMayImport(caller, kind);
    if (refusal === null) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ name: refusal }));
  });
});

describe('ActingUserService', () => {
  let requested: unknown;

  interface Given {
    caller?: UserCaller | null;
    partner?: string | null;
    acting?: ActingUserSession | null;
  }
  function revalidate(given: Given) {
    const { caller = userCaller(), partner = 'active', acting = SESSION } = given;
    const snapshots = { findCaller: (session: unknown) => Promise.resolve(((requested = session), caller)) };
    const partners = { find: () => Promise.resolve(partner && { status: partner }) };
    const service = new ActingUserService(snapshots as never, partners as never);
    return service.revalidate({ acting, kind: 'organizations', partnerId: 'p-1' } as ImportRun);
  }

  it('returns the current access of the session, with the second factor that it had', async () => {
    const acting = { ...SESSION, mfa: false };
    const caller = userCaller();
    expect(await revalidate({ acting, caller })).toBe(caller);
    expect(requested).toEqual(acting);
  });

  it.each<[string, Given]>([
    ['the run has no user', { acting: null }],
    ['the session, the user or the membership has ended', { caller: null }],
    ['the partner is suspended', { partner: 'suspended' }],
    ['the partner is unknown', { partner: null }],
    ['the permission has ended', { caller: userCaller(['sites:write']) }],
    ['the access to all organizations has ended', { caller: userCaller(ALL_PERMISSIONS, 'selected') }],
  ])('ends the run with access_revoked when %s', async (_, given) => {
    await expect(revalidate(given)).rejects.toMatchObject({ name: 'ImportRunFailed', code: 'access_revoked' });
  });
});
