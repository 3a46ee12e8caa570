import type { AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import { type DomainError, FixedClock, UnavailableError } from '@rmm/service-kit';
import { snapshot } from '../../test/callers.js';
import { buildTokenVerifier, CONFIG, fakeFeeds, fakeSources } from '../../test/fakes.js';
import { accessToken, signingKey } from '../../test/tokens.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import type { Denial, DenialAuditService } from '../audit/denial-audit.service.js';
import type { OrganizationDirectory } from '../directory/organization-directory.service.js';
import type { DirectoryOrganization } from '../directory/directory-organization.js';
import type { RouteConstraints } from '../route-access/route-access.decorator.js';
import type { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { AccessSnapshots } from '../snapshots/access-snapshots.service.js';
import type { AccessTokenClaims } from '../tokens/access-token.js';
import { TenantStatusCheck } from './tenant-status-check.service.js';
import { type RequiredPermissions, UserAuthenticator } from './user.authenticator.js';

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
let feeds: InvalidationFeeds;
let known: AccessSnapshot | null;
let organization: DirectoryOrganization | null | Error;
let asked: number;
let opened: AccessResolveRequest[];
let recorded: Denial[];
let snapshots: AccessSnapshots;
let authenticator: UserAuthenticator;

beforeEach(() => {
  clock = new FixedClock(NOW);
  feeds = fakeFeeds(clock);
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
  snapshots = new AccessSnapshots(fakeSources({ access: source }), feeds, clock);
  const keys = { find: () => Promise.resolve(key.publicKey) };
  const verifier = buildTokenVerifier(keys, clock);
  const find = () => (organization instanceof Error ? Promise.reject(organization) : Promise.resolve(organization));
  const denials = { record: (denial: Denial) => recorded.push(denial) } as unknown as DenialAuditService;
  authenticator = new UserAuthenticator(
    verifier,
    snapshots,
    new TenantStatusCheck({ find } as unknown as OrganizationDirectory, CONFIG),
    denials,
  );
});

interface Attempt {
  claims?: Partial<AccessTokenClaims>;
  required?: RequiredPermissions;
  constraints?: RouteConstraints;
  headers?: Record<string, string>;
  address?: string;
  method?: string;
}

function authenticate({ claims, required = null, constraints = {}, headers, address, method = 'GET' }: Attempt = {}) {
  const authorization = `Bearer ${accessToken(key, NOW, claims)}`;
  const request = {
    headers: headers ?? { authorization },
    clientAddress: address ?? '203.0.113.9',
    method,
    path: '/x',
  };
  return authenticator.authenticate(request as unknown as AccessRequest, {} as AccessResponse, required, constraints);
}

/** Code and extras of the refusal. */
async function refusal(attempt: Attempt = {}): Promise<{ code: string; status: number; extras?: object }> {
  const outcome = await authenticate(attempt).then(
    () => null,
    (error: DomainError) => error,
  );
  if (outcome === null) throw new Error('was accepted');
  return { code: outcome.code, status: outcome.status, ...(outcome.extras && { extras: outcome.extras }) };
}

describe('a live user', () => {
  it('becomes a caller with its tenant', async () => {
    await expect(authenticate()).resolves.toMatchObject({
      kind: 'user',
      userId: 'user-1',
      mfa: true,
      tenant: { scope: 'partner', partnerId: 'partner-1', orgAccess: 'all', userId: 'user-1' },
      actor: { type: 'user', id: 'user-1', email: 'ada@msp.example' },
    });
  });

  it('is asked of identity once in two minutes', async () => {
    await authenticate();
    await authenticate();
    expect(asked).toBe(1);
    clock.advance(120_000);
    feeds.access.onHeartbeat({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    await authenticate();
    expect(asked).toBe(2);
  });

  it('is the same caller object as long as nothing changed, with the mfa of the token presented', async () => {
    expect(await authenticate()).toBe(await authenticate());
    expect((await authenticate({ claims: { mfa: false } })).mfa).toBe(false);
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
    await expect(authenticate()).resolves.toBeDefined();
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
    ['of the user', { userIds: ['user-1'] }],
    ['of the role', { roleIds: ['role-1'] }],
    ['of the partner', { partnerIds: ['partner-1'] }],
  ])('%s takes effect with the next request', async (_, change) => {
    await authenticate();
    known = snapshot({ sessionRevoked: true });
    snapshots.invalidate({ ...change, reason: 'spec' });
    await expect(refusal()).resolves.toMatchObject({ code: 'unauthenticated' });
  });

  it('of somebody else costs nothing', async () => {
    await authenticate();
    snapshots.invalidate({ userIds: ['x'], roleIds: ['x'], partnerIds: ['x'], orgIds: ['x'], reason: 'spec' });
    await authenticate();
    expect(asked).toBe(1);
  });

  it('cannot be heard for thirty seconds: 503, until it is heard again', async () => {
    await authenticate();
    clock.advance(30_001);
    await expect(refusal()).resolves.toEqual({ code: 'service_unavailable', status: 503 });
    feeds.access.onHeartbeat({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    await expect(authenticate()).resolves.toBeDefined();
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
    await expect(authenticate()).resolves.toBeDefined();
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
    await expect(authenticate()).resolves.toMatchObject({ orgId: 'org-1' });
  });

  it('that cannot be read is 503', async () => {
    known = snapshot(member);
    organization = new UnavailableError();
    await expect(refusal()).resolves.toEqual({ code: 'partner_lookup_unavailable', status: 503 });
  });

  it('is not looked at where the route says so', async () => {
    known = snapshot({ partnerStatus: 'suspended' });
    await expect(authenticate({ constraints: { skipTenantStatus: true } })).resolves.toBeDefined();
  });
});

describe("the partner's address list", () => {
  it('lets its addresses in and refuses others', async () => {
    known = snapshot({ ipAllowlist: ['198.51.100.0/24', '2001:db8::/32'] });
    await expect(authenticate({ address: '198.51.100.7' })).resolves.toBeDefined();
    await expect(authenticate({ address: '2001:db8::1' })).resolves.toBeDefined();
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
    await expect(authenticate()).resolves.toBeDefined();
    expect(recorded).toEqual([
      expect.objectContaining({ action: 'ip_allowlist.bypass_platform_admin', result: 'success' }),
    ]);
  });
});

describe('the enrollment gate', () => {
  const requireded = { mfaEnrollmentRequired: true, hasFactor: false, allowedMfaMethods: ['totp', 'passkey'] };

  it('is 428 with the way out', async () => {
    known = snapshot(requireded);
    await expect(refusal()).resolves.toEqual({
      code: 'mfa_enrollment_required',
      status: 428,
      extras: { enrollUrl: '/auth/mfa/setup', allowedMethods: ['totp', 'passkey'] },
    });
  });

  it('is open where the route leads to a factor, and for those who have one', async () => {
    known = snapshot(requireded);
    await expect(authenticate({ constraints: { skipMfaEnrollment: true } })).resolves.toBeDefined();
    snapshots.flush();
    known = snapshot({ ...requireded, hasFactor: true });
    await expect(authenticate()).resolves.toBeDefined();
  });
});

describe('an enrollment window that waits to be opened', () => {
  beforeEach(() => (known = snapshot({ hasFactor: false, mfaGraceDue: true })));

  it('is opened by a mutating request, for the session that makes it', async () => {
    await authenticate({ method: 'POST' });
    expect(opened).toEqual([
      {
        userId: 'user-1',
        sessionId: 'session-1',
        scope: 'partner',
        partnerId: 'partner-1',
        orgId: null,
        opensMfaGrace: true,
      },
    ]);
  });

  it('is not opened by looking, nor on the way to a factor', async () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) await authenticate({ method });
    await authenticate({ method: 'POST', constraints: { skipMfaEnrollment: true } });
    expect(opened).toEqual([]);
  });

  it('costs nobody else a question', async () => {
    known = snapshot();
    await authenticate({ method: 'POST' });
    await authenticate({ method: 'POST' });
    expect(asked).toBe(1);
  });

  it('keeps nobody out when it cannot be opened now', async () => {
    await authenticate();
    snapshots.openMfaGrace = () => Promise.reject(new UnavailableError());
    await expect(authenticate({ method: 'DELETE' })).resolves.toMatchObject({ userId: 'user-1' });
  });
});

describe('the door itself', () => {
  const required: RequiredPermissions = { all: ['sites:read', 'sites:write'] };

  it('wants all permissions, and names them all', async () => {
    known = snapshot({ permissions: ['sites:read'] });
    await expect(refusal({ required })).resolves.toEqual({
      code: 'permission_denied',
      status: 403,
      extras: { required: ['sites:read', 'sites:write'] },
    });
    snapshots.flush();
    known = snapshot({ permissions: ['sites:*'] });
    await expect(authenticate({ required })).resolves.toBeDefined();
  });

  it('or any of some', async () => {
    known = snapshot({ permissions: ['sites:read'] });
    await expect(authenticate({ required: { any: ['devices:read', 'sites:read'] } })).resolves.toBeDefined();
    await expect(refusal({ required: { any: ['devices:read'] } })).resolves.toMatchObject({
      code: 'permission_denied',
    });
  });

  it('is closed to other scopes, to partial partner access, and without a factor', async () => {
    known = snapshot({ orgAccess: 'selected', orgIds: ['org-1'] });
    await expect(refusal({ constraints: { scopes: ['system'] } })).resolves.toMatchObject({
      code: 'scope_not_allowed',
    });
    await expect(refusal({ constraints: { fullPartnerAccess: true } })).resolves.toMatchObject({
      code: 'full_partner_access_required',
    });
    await expect(refusal({ constraints: { mfa: true }, claims: { mfa: false } })).resolves.toMatchObject({
      code: 'mfa_required',
    });
    await expect(authenticate({ constraints: { mfa: true, scopes: ['partner'] } })).resolves.toBeDefined();
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
    const constraints: RouteConstraints = { scopes: ['system'], mfa: true, fullPartnerAccess: true };
    const attempt: Attempt = { constraints, required: { all: ['sites:read'] }, claims: { mfa: false } };
    const repairs: [string, () => void][] = [
      ['unauthenticated', () => (worst.userStatus = 'active')],
      ['partner_inactive', () => (worst.partnerStatus = 'active')],
      ['ip_not_allowed', () => (worst.ipAllowlist = [])],
      ['mfa_enrollment_required', () => (worst.hasFactor = true)],
      ['scope_not_allowed', () => (constraints.scopes = ['partner'])],
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
    await expect(authenticate(attempt)).resolves.toBeDefined();
  });
});
