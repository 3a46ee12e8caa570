import type { AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import { type DomainError, UnavailableError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { snapshot } from '../../test/callers.js';
import { buildTokenVerifier, CONFIG, fakeFeeds, fakeSources } from '../../test/fakes.js';
import { accessToken, signingKey, ORG_ID, PARTNER_ID, ROLE_ID } from '../../test/tokens.js';
import type { Denial, DenialAuditService } from '../audit/denial-audit.service.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import type { DirectoryOrganization } from '../directory/directory-organization.js';
import type { OrganizationDirectory } from '../directory/organization-directory.service.js';
import type { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import type { RouteConstraints } from '../route-access/route-access.decorator.js';
import { AccessSnapshots } from '../snapshots/access-snapshots.service.js';
import type { AccessTokenClaims } from '../tokens/access-token.js';
import { TenantStatusCheck } from './tenant-status-check.service.js';
import { type RequiredPermissions, UserAuthenticator } from './user.authenticator.js';

const key = signingKey();
const NOW = Date.parse('2026-11-20T12:00:00Z');
const ORG: DirectoryOrganization = {
  orgId: ORG_ID,
  partnerId: PARTNER_ID,
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
    clock,
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

describe('a valid token', () => {
  it('authenticates the caller with its tenant', async () => {
    await expect(authenticate()).resolves.toMatchObject({
      kind: 'user',
      userId: '11111111-1111-4111-8111-111111111111',
      mfa: true,
      tenant: {
        scope: 'partner',
        partnerId: PARTNER_ID,
        orgAccess: 'all',
        userId: '11111111-1111-4111-8111-111111111111',
      },
      actor: { type: 'user', id: '11111111-1111-4111-8111-111111111111', email: 'ada@msp.example' },
    });
  });

  it('reads the snapshot from identity once in two minutes', async () => {
    await authenticate();
    await authenticate();
    expect(asked).toBe(1);
    clock.advance(120_000);
    feeds.access.onHeartbeat({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    await authenticate();
    expect(asked).toBe(2);
  });

  it('returns the same caller object until a change, with the mfa claim of the presented token', async () => {
    expect(await authenticate()).toBe(await authenticate());
    expect((await authenticate({ claims: { mfa: false } })).mfa).toBe(false);
  });
});

describe('returns 401 unauthenticated', () => {
  it.each<[string, Partial<AccessSnapshot> | null]>([
    ['an unknown user or session', null],
    ['a disabled user', { userStatus: 'disabled' }],
    ['an invited user', { userStatus: 'invited' }],
    ['a revoked session', { sessionRevoked: true }],
    ['another auth epoch', { authEpoch: 2 }],
    ['another MFA epoch', { mfaEpoch: 2 }],
    ['a missing membership', { membershipExists: false }],
    ['a token older than the password', { passwordChangedAt: NOW / 1_000 + 1 }],
  ])('for %s', async (_, changes) => {
    known = changes && snapshot(changes);
    await expect(refusal()).resolves.toEqual({ code: 'unauthenticated', status: 401 });
  });

  it('except for a token issued in the second of the password change', async () => {
    known = snapshot({ passwordChangedAt: NOW / 1_000 });
    await expect(authenticate()).resolves.toBeDefined();
  });

  it('without a credential and without a look-up', async () => {
    await expect(refusal({ headers: {} })).resolves.toEqual({ code: 'unauthenticated', status: 401 });
    await expect(refusal({ headers: { authorization: 'Basic eDp5' } })).resolves.toMatchObject({ status: 401 });
    expect(asked).toBe(0);
  });

  it('with the code api_key_not_accepted_here for an API key, without a look-up', async () => {
    const headers = { 'x-api-key': 'svc_whatever' };
    await expect(refusal({ headers })).resolves.toEqual({ code: 'api_key_not_accepted_here', status: 401 });
    expect(asked).toBe(0);
  });
});

describe('a change of access', () => {
  it.each([
    ['of the user', { userIds: ['11111111-1111-4111-8111-111111111111'] }],
    ['of the role', { roleIds: [ROLE_ID] }],
    ['of the partner', { partnerIds: [PARTNER_ID] }],
  ])('%s takes effect with the next request', async (_, change) => {
    await authenticate();
    known = snapshot({ sessionRevoked: true });
    snapshots.invalidate({ ...change, reason: 'spec' });
    await expect(refusal()).resolves.toMatchObject({ code: 'unauthenticated' });
  });

  it('of another user keeps the snapshot', async () => {
    await authenticate();
    snapshots.invalidate({ userIds: ['x'], roleIds: ['x'], partnerIds: ['x'], orgIds: ['x'], reason: 'spec' });
    await authenticate();
    expect(asked).toBe(1);
  });

  it('returns 503 after thirty seconds without a heartbeat, until the next one', async () => {
    await authenticate();
    clock.advance(30_001);
    await expect(refusal()).resolves.toEqual({ code: 'service_unavailable', status: 503 });
    feeds.access.onHeartbeat({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    await expect(authenticate()).resolves.toBeDefined();
  });
});

describe('the tenant status check', () => {
  const member = { scope: 'organization', orgId: ORG_ID, orgAccess: 'none' } as const;

  it.each<[string, Partial<AccessSnapshot>, object]>([
    [
      'a suspended partner',
      { partnerStatus: 'suspended' },
      { code: 'partner_inactive', extras: { status: 'suspended' } },
    ],
    ['a missing partner', { partnerStatus: null }, { code: 'partner_not_found' }],
    [
      'a pending partner, of an organization member',
      { ...member, partnerStatus: 'pending' },
      { code: 'partner_inactive', extras: { actionUrl: 'https://app.example/verify-email' } },
    ],
  ])('returns 403 for %s', async (_, changes, expected) => {
    known = snapshot(changes);
    await expect(refusal()).resolves.toMatchObject({ status: 403, ...expected });
  });

  it('accepts partner members of a pending partner', async () => {
    known = snapshot({ partnerStatus: 'pending' });
    await expect(authenticate()).resolves.toBeDefined();
  });

  it.each<[string, DirectoryOrganization | null, string]>([
    ['unknown', null, 'tenant_inactive'],
    ['suspended', { ...ORG, status: 'suspended' }, 'tenant_inactive'],
    ['deleted', { ...ORG, deleted: true }, 'tenant_inactive'],
    ["another partner's", { ...ORG, partnerId: 'partner-2' }, 'partner_not_found'],
  ])('returns 403 for an organization that is %s', async (_, found, code) => {
    known = snapshot(member);
    organization = found;
    await expect(refusal()).resolves.toEqual({ code, status: 403 });
  });

  it('accepts members of an organization on trial', async () => {
    known = snapshot(member);
    organization = { ...ORG, status: 'trial' };
    await expect(authenticate()).resolves.toMatchObject({ orgId: ORG_ID });
  });

  it('returns 503 when it cannot be evaluated', async () => {
    known = snapshot(member);
    organization = new UnavailableError();
    await expect(refusal()).resolves.toEqual({ code: 'partner_lookup_unavailable', status: 503 });
  });

  it('is skipped on routes with skipTenantStatus', async () => {
    known = snapshot({ partnerStatus: 'suspended' });
    await expect(authenticate({ constraints: { skipTenantStatus: true } })).resolves.toBeDefined();
  });
});

describe("the partner's address list", () => {
  it('accepts listed addresses and returns 403 for others', async () => {
    known = snapshot({ ipAllowlist: ['198.51.100.0/24', '2001:db8::/32'] });
    await expect(authenticate({ address: '198.51.100.7' })).resolves.toBeDefined();
    await expect(authenticate({ address: '2001:db8::1' })).resolves.toBeDefined();
    await expect(refusal()).resolves.toEqual({ code: 'ip_not_allowed', status: 403 });
  });

  it('returns 503 when it cannot be evaluated', async () => {
    known = snapshot({ ipAllowlist: ['198.51.100.0/99'] });
    await expect(refusal()).resolves.toEqual({ code: 'ip_check_failed', status: 503 });
  });

  it.each<[string, Partial<AccessSnapshot>]>([
    ['in their own scope', { scope: 'system' }],
    ['acting for a partner', { isPlatformAdmin: true }],
  ])('accepts platform administrators %s and writes an audit row', async (_, changes) => {
    known = snapshot({ ...changes, ipAllowlist: ['198.51.100.0/24'] });
    await expect(authenticate()).resolves.toBeDefined();
    expect(recorded).toEqual([
      expect.objectContaining({ action: 'ip_allowlist.bypass_platform_admin', result: 'success' }),
    ]);
  });
});

describe('the MFA enrollment check', () => {
  const overdue: Partial<AccessSnapshot> = {
    mfaEnrollmentRequired: true,
    hasFactor: false,
    allowedMfaMethods: ['totp', 'passkey'],
  };

  it('returns 428 with the enrollment URL and methods', async () => {
    known = snapshot(overdue);
    await expect(refusal()).resolves.toEqual({
      code: 'mfa_enrollment_required',
      status: 428,
      extras: { enrollUrl: '/auth/mfa/setup', allowedMethods: ['totp', 'passkey'] },
    });
  });

  it('is skipped on routes with skipMfaEnrollment and for users with a factor', async () => {
    known = snapshot(overdue);
    await expect(authenticate({ constraints: { skipMfaEnrollment: true } })).resolves.toBeDefined();
    snapshots.flush();
    known = snapshot({ ...overdue, hasFactor: true });
    await expect(authenticate()).resolves.toBeDefined();
  });

  it('begins with the end of the enrollment window, although the snapshot is cached', async () => {
    known = snapshot({ hasFactor: false, mfaDeadline: clock.nowMs() + 5_000 });
    await expect(authenticate()).resolves.toBeDefined();
    clock.advance(4_999);
    await expect(authenticate()).resolves.toBeDefined();
    known = null;
    clock.advance(1);
    await expect(refusal()).resolves.toMatchObject({ code: 'mfa_enrollment_required' });
  });
});

describe('an MFA enrollment window that is not open yet', () => {
  beforeEach(() => (known = snapshot({ hasFactor: false, mfaGraceDue: true })));

  it('is opened by a mutating request of the session', async () => {
    await authenticate({ method: 'POST' });
    expect(opened).toEqual([
      {
        userId: '11111111-1111-4111-8111-111111111111',
        sessionId: '22222222-2222-4222-8222-222222222222',
        scope: 'partner',
        partnerId: PARTNER_ID,
        orgId: null,
        opensMfaGrace: true,
      },
    ]);
  });

  it('is not opened by read requests or by routes with skipMfaEnrollment', async () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) await authenticate({ method });
    await authenticate({ method: 'POST', constraints: { skipMfaEnrollment: true } });
    expect(opened).toEqual([]);
  });

  it('causes no call for other users', async () => {
    known = snapshot();
    await authenticate({ method: 'POST' });
    await authenticate({ method: 'POST' });
    expect(asked).toBe(1);
  });

  it('accepts the request when it cannot be opened', async () => {
    await authenticate();
    snapshots.openMfaGrace = () => Promise.reject(new UnavailableError());
    await expect(authenticate({ method: 'DELETE' })).resolves.toMatchObject({
      userId: '11111111-1111-4111-8111-111111111111',
    });
  });
});

describe('route constraints', () => {
  const required: RequiredPermissions = { all: ['sites:read', 'sites:write'] };

  it('require all permissions and name them in the response', async () => {
    known = snapshot({ permissions: ['sites:read'] });
    await expect(refusal({ required })).resolves.toEqual({
      code: 'permission_denied',
      status: 403,
      extras: { required: ['sites:read', 'sites:write'] },
    });
    snapshots.flush();
    known = snapshot({ permissions: ['sites:read', 'sites:write'] });
    await expect(authenticate({ required })).resolves.toBeDefined();
  });

  it('require any of the named permissions', async () => {
    known = snapshot({ permissions: ['sites:read'] });
    await expect(authenticate({ required: { any: ['devices:read', 'sites:read'] } })).resolves.toBeDefined();
    await expect(refusal({ required: { any: ['devices:read'] } })).resolves.toMatchObject({
      code: 'permission_denied',
    });
  });

  it('deny other scopes, partial partner access and sessions without MFA', async () => {
    known = snapshot({ orgAccess: 'selected', orgIds: [ORG_ID] });
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

describe('several failing checks', () => {
  it('return the error of the first check in order', async () => {
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
