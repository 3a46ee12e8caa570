import type { AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import { type DomainError, FixedClock, UnavailableError } from '@rmm/service-kit';
import { snapshot } from '../../test/callers.js';
import { accessToken, AUDIENCE, ISSUER, signingKey } from '../../test/tokens.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import type { Denials, Denial } from '../denials/denials.js';
import type { DirectoryOrganization } from '../directory/directory-organization.js';
import type { RouteConstraints } from '../route-access/route-access.decorator.js';
import { InvalidationFeed } from '../feed/invalidation-feed.js';
import { AccessSnapshots } from '../snapshots/access-snapshots.js';
import type { AccessTokenClaims } from '../tokens/access-token.js';
import { TokenVerifier } from '../tokens/token-verifier.js';
import { TenantStatusCheck } from './tenant-status-check.js';
import { type Demand, UserAuthenticator } from './user.authenticator.js';

const key = signingKey();
const NOW = Date.parse('2026-11-20T12:00:00Z');
const ORG: DirectoryOrganization = {
  orgId: 'org-1',
  partnerId: 'partner-1',
  name: 'Org',
  slug: 'org',
  status: 'active',
  deleted: false,
  version: 1,
};

let clock: FixedClock;
let feed: InvalidationFeed;
let known: AccessSnapshot | null;
let organization: DirectoryOrganization | null | Error;
let asked: number;
let opened: AccessResolveRequest[];
let recorded: Denial[];
let snapshots: AccessSnapshots;
let door: UserAuthenticator;

beforeEach(() => {
  clock = new FixedClock(NOW);
  feed = new InvalidationFeed({ clock, maxSilenceMs: 30_000, onGap: () => undefined });
  known = snapshot();
  organization = ORG;
  asked = 0;
  recorded = [];
  opened = [];
  const source = {
    resolve: (request: AccessResolveRequest) => {
      if (request.opensMfaGrace) opened.push(request);
      return Promise.resolve((asked++, known));
    },
  };
  snapshots = new AccessSnapshots(() => source, feed, clock);
  const keys = { find: () => Promise.resolve(key.publicKey) };
  const verifier = new TokenVerifier({ keys, issuer: ISSUER, audience: AUDIENCE, clock });
  const find = () => (organization instanceof Error ? Promise.reject(organization) : Promise.resolve(organization));
  const denials = { record: (denial: Denial) => recorded.push(denial) } as unknown as Denials;
  door = new UserAuthenticator(verifier, snapshots, new TenantStatusCheck(find, 'https://app.example'), denials);
});

interface Attempt {
  claims?: Partial<AccessTokenClaims>;
  demand?: Demand;
  narrowing?: RouteConstraints;
  headers?: Record<string, string>;
  address?: string;
  method?: string;
}

function enter({ claims, demand = null, narrowing = {}, headers, address, method = 'GET' }: Attempt = {}) {
  const authorization = `Bearer ${accessToken(key, NOW, claims)}`;
  const request = {
    headers: headers ?? { authorization },
    clientAddress: address ?? '203.0.113.9',
    method,
    path: '/x',
  };
  return door.enter(request as unknown as AccessRequest, {} as AccessResponse, demand, narrowing);
}

/** Code and extras of the refusal. */
async function refusal(attempt: Attempt = {}): Promise<{ code: string; status: number; extras?: object }> {
  const outcome = await enter(attempt).then(
    () => null,
    (error: DomainError) => error,
  );
  if (outcome === null) throw new Error('was let in');
  return { code: outcome.code, status: outcome.status, ...(outcome.extras && { extras: outcome.extras }) };
}

describe('a live user', () => {
  it('becomes a caller with its tenant', async () => {
    await expect(enter()).resolves.toMatchObject({
      kind: 'user',
      userId: '11111111-1111-4111-8111-111111111111',
      mfa: true,
      tenant: {
        scope: 'partner',
        partnerId: 'partner-1',
        orgAccess: 'all',
        userId: '11111111-1111-4111-8111-111111111111',
      },
      actor: { type: 'user', id: '11111111-1111-4111-8111-111111111111', email: 'ada@msp.example' },
    });
  });

  it('is asked of identity once in two minutes', async () => {
    await enter();
    await enter();
    expect(asked).toBe(1);
    clock.advance(120_000);
    feed.heard({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    await enter();
    expect(asked).toBe(2);
  });

  it('is the same caller object as long as nothing changed, with the mfa of the token presented', async () => {
    expect(await enter()).toBe(await enter());
    expect((await enter({ claims: { mfa: false } })).mfa).toBe(false);
  });
});

describe('401 unauthenticated', () => {
  it.each<[string, Partial<AccessSnapshot> | null]>([
    ['an unknown user or session', null],
    ['a disabled user', { userStatus: 'disabled' }],
    ['an invited user', { userStatus: 'invited' }],
    ['a revoked session', { sessionRevoked: true }],
    ['another auth epoch', { authEpoch: 2 }],
    ['another MFA epoch', { mfaEpoch: 2 }],
    ['a membership that is gone', { membershipExists: false }],
    ['a token older than the password', { passwordChangedAt: NOW / 1_000 + 1 }],
  ])('for %s', async (_, changes) => {
    known = changes && snapshot(changes);
    await expect(refusal()).resolves.toEqual({ code: 'unauthenticated', status: 401 });
  });

  it('not for a token of the second in which the password was changed', async () => {
    known = snapshot({ passwordChangedAt: NOW / 1_000 });
    await expect(enter()).resolves.toBeDefined();
  });

  it('without any credential, without asking anybody', async () => {
    await expect(refusal({ headers: {} })).resolves.toEqual({ code: 'unauthenticated', status: 401 });
    await expect(refusal({ headers: { authorization: 'Basic eDp5' } })).resolves.toMatchObject({ status: 401 });
    expect(asked).toBe(0);
  });

  it('names the API key that is not accepted here, without asking anybody', async () => {
    const headers = { 'x-api-key': 'svc_whatever' };
    await expect(refusal({ headers })).resolves.toEqual({ code: 'api_key_not_accepted_here', status: 401 });
    expect(asked).toBe(0);
  });
});

describe('a change of access', () => {
  it.each([
    ['of the user', { userIds: ['11111111-1111-4111-8111-111111111111'] }],
    ['of the role', { roleIds: ['role-1'] }],
    ['of the partner', { partnerIds: ['partner-1'] }],
  ])('%s takes effect with the next request', async (_, change) => {
    await enter();
    known = snapshot({ sessionRevoked: true });
    snapshots.invalidate({ ...change, reason: 'spec' });
    await expect(refusal()).resolves.toMatchObject({ code: 'unauthenticated' });
  });

  it('of somebody else costs nothing', async () => {
    await enter();
    snapshots.invalidate({ userIds: ['x'], roleIds: ['x'], partnerIds: ['x'], orgIds: ['x'], reason: 'spec' });
    await enter();
    expect(asked).toBe(1);
  });

  it('cannot be heard for thirty seconds: 503, until it is heard again', async () => {
    await enter();
    clock.advance(30_001);
    await expect(refusal()).resolves.toEqual({ code: 'service_unavailable', status: 503 });
    feed.heard({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    await expect(enter()).resolves.toBeDefined();
  });
});

describe('the tenant', () => {
  const member = { scope: 'organization', orgId: 'org-1', orgAccess: 'none' } as const;

  it.each<[string, Partial<AccessSnapshot>, object]>([
    [
      'a suspended partner',
      { partnerStatus: 'suspended' },
      { code: 'partner_inactive', extras: { status: 'suspended' } },
    ],
    ['a partner that is gone', { partnerStatus: null }, { code: 'partner_not_found' }],
    [
      'a pending partner, of an organization member',
      { ...member, partnerStatus: 'pending' },
      { code: 'partner_inactive', extras: { actionUrl: 'https://app.example/verify-email' } },
    ],
  ])('403 for %s', async (_, changes, expected) => {
    known = snapshot(changes);
    await expect(refusal()).resolves.toMatchObject({ status: 403, ...expected });
  });

  it('that is pending still serves its partner members', async () => {
    known = snapshot({ partnerStatus: 'pending' });
    await expect(enter()).resolves.toBeDefined();
  });

  it.each<[string, DirectoryOrganization | null, string]>([
    ['unknown', null, 'tenant_inactive'],
    ['suspended', { ...ORG, status: 'suspended' }, 'tenant_inactive'],
    ['deleted', { ...ORG, deleted: true }, 'tenant_inactive'],
    ["another partner's", { ...ORG, partnerId: 'partner-2' }, 'partner_not_found'],
  ])('403 for an organization that is %s', async (_, found, code) => {
    known = snapshot(member);
    organization = found;
    await expect(refusal()).resolves.toEqual({ code, status: 403 });
  });

  it('on trial is served', async () => {
    known = snapshot(member);
    organization = { ...ORG, status: 'trial' };
    await expect(enter()).resolves.toMatchObject({ orgId: 'org-1' });
  });

  it('that cannot be read is 503', async () => {
    known = snapshot(member);
    organization = new UnavailableError();
    await expect(refusal()).resolves.toEqual({ code: 'partner_lookup_unavailable', status: 503 });
  });

  it('is not looked at where the route says so', async () => {
    known = snapshot({ partnerStatus: 'suspended' });
    await expect(enter({ narrowing: { skipTenantStatus: true } })).resolves.toBeDefined();
  });
});

describe("the partner's address list", () => {
  it('lets its addresses in and refuses others', async () => {
    known = snapshot({ ipAllowlist: ['198.51.100.0/24', '2001:db8::/32'] });
    await expect(enter({ address: '198.51.100.7' })).resolves.toBeDefined();
    await expect(enter({ address: '2001:db8::1' })).resolves.toBeDefined();
    await expect(refusal()).resolves.toEqual({ code: 'ip_not_allowed', status: 403 });
  });

  it('that cannot be read is 503', async () => {
    known = snapshot({ ipAllowlist: ['198.51.100.0/99'] });
    await expect(refusal()).resolves.toEqual({ code: 'ip_check_failed', status: 503 });
  });

  it.each<[string, Partial<AccessSnapshot>]>([
    ['in their own scope', { scope: 'system' }],
    ['acting for a partner', { isPlatformAdmin: true }],
  ])('is passed by platform administrators %s, who leave a row', async (_, changes) => {
    known = snapshot({ ...changes, ipAllowlist: ['198.51.100.0/24'] });
    await expect(enter()).resolves.toBeDefined();
    expect(recorded).toEqual([
      expect.objectContaining({ action: 'ip_allowlist.bypass_platform_admin', result: 'success' }),
    ]);
  });
});

describe('the enrollment gate', () => {
  const demanded = { mfaEnrollmentRequired: true, hasFactor: false, allowedMfaMethods: ['totp', 'passkey'] };

  it('is 428 with the way out', async () => {
    known = snapshot(demanded);
    await expect(refusal()).resolves.toEqual({
      code: 'mfa_enrollment_required',
      status: 428,
      extras: { enrollUrl: '/auth/mfa/setup', allowedMethods: ['totp', 'passkey'] },
    });
  });

  it('is open where the route leads to a factor, and for those who have one', async () => {
    known = snapshot(demanded);
    await expect(enter({ narrowing: { skipMfaEnrollment: true } })).resolves.toBeDefined();
    snapshots.flush();
    known = snapshot({ ...demanded, hasFactor: true });
    await expect(enter()).resolves.toBeDefined();
  });
});

describe('an enrollment window that waits to be opened', () => {
  beforeEach(() => (known = snapshot({ hasFactor: false, mfaGraceDue: true })));

  it('is opened by a mutating request, for the session that makes it', async () => {
    await enter({ method: 'POST' });
    expect(opened).toEqual([
      {
        userId: '11111111-1111-4111-8111-111111111111',
        sessionId: '22222222-2222-4222-8222-222222222222',
        scope: 'partner',
        partnerId: 'partner-1',
        orgId: null,
        opensMfaGrace: true,
      },
    ]);
  });

  it('is not opened by looking, nor on the way to a factor', async () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) await enter({ method });
    await enter({ method: 'POST', narrowing: { skipMfaEnrollment: true } });
    expect(opened).toEqual([]);
  });

  it('costs nobody else a question', async () => {
    known = snapshot();
    await enter({ method: 'POST' });
    await enter({ method: 'POST' });
    expect(asked).toBe(1);
  });

  it('keeps nobody out when it cannot be opened now', async () => {
    await enter();
    snapshots.openMfaGrace = () => Promise.reject(new UnavailableError());
    await expect(enter({ method: 'DELETE' })).resolves.toMatchObject({
      userId: '11111111-1111-4111-8111-111111111111',
    });
  });
});

describe('the door itself', () => {
  const demand: Demand = { all: ['sites:read', 'sites:write'] };

  it('wants all permissions, and names them all', async () => {
    known = snapshot({ permissions: ['sites:read'] });
    await expect(refusal({ demand })).resolves.toEqual({
      code: 'permission_denied',
      status: 403,
      extras: { required: ['sites:read', 'sites:write'] },
    });
    snapshots.flush();
    known = snapshot({ permissions: ['sites:*'] });
    await expect(enter({ demand })).resolves.toBeDefined();
  });

  it('or any of some', async () => {
    known = snapshot({ permissions: ['sites:read'] });
    await expect(enter({ demand: { any: ['devices:read', 'sites:read'] } })).resolves.toBeDefined();
    await expect(refusal({ demand: { any: ['devices:read'] } })).resolves.toMatchObject({ code: 'permission_denied' });
  });

  it('is closed to other scopes, to partial partner access, and without a factor', async () => {
    known = snapshot({ orgAccess: 'selected', orgIds: ['org-1'] });
    await expect(refusal({ narrowing: { scopes: ['system'] } })).resolves.toMatchObject({ code: 'scope_not_allowed' });
    await expect(refusal({ narrowing: { fullPartnerAccess: true } })).resolves.toMatchObject({
      code: 'full_partner_access_required',
    });
    await expect(refusal({ narrowing: { mfa: true }, claims: { mfa: false } })).resolves.toMatchObject({
      code: 'mfa_required',
    });
    await expect(enter({ narrowing: { mfa: true, scopes: ['partner'] } })).resolves.toBeDefined();
  });
});

describe('when several things are wrong', () => {
  it('the first of the contract answers, one after the other', async () => {
    const worst: Partial<AccessSnapshot> = {
      userStatus: 'disabled',
      partnerStatus: 'suspended',
      ipAllowlist: ['198.51.100.0/24'],
      mfaEnrollmentRequired: true,
      hasFactor: false,
      orgAccess: 'none',
      permissions: [],
    };
    const narrowing: RouteConstraints = { scopes: ['system'], mfa: true, fullPartnerAccess: true };
    const attempt: Attempt = { narrowing, demand: { all: ['sites:read'] }, claims: { mfa: false } };
    const repairs: [string, () => void][] = [
      ['unauthenticated', () => (worst.userStatus = 'active')],
      ['partner_inactive', () => (worst.partnerStatus = 'active')],
      ['ip_not_allowed', () => (worst.ipAllowlist = [])],
      ['mfa_enrollment_required', () => (worst.hasFactor = true)],
      ['scope_not_allowed', () => (narrowing.scopes = ['partner'])],
      ['permission_denied', () => (worst.permissions = ['sites:read'])],
      ['full_partner_access_required', () => (worst.orgAccess = 'all')],
      ['mfa_required', () => (attempt.claims = { mfa: true })],
    ];
    for (const [code, repair] of repairs) {
      known = snapshot(worst);
      snapshots.flush();
      expect((await refusal(attempt)).code).toBe(code);
      repair();
    }
    known = snapshot(worst);
    snapshots.flush();
    await expect(enter(attempt)).resolves.toBeDefined();
  });
});
