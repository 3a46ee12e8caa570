import { randomUUID } from 'node:crypto';
import type { AccessResolveRequest } from '@rmm/contracts';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { claimsOf, registerPartner, type TestUser } from '../../test/users.js';
import { AccessSourceService } from './access-source.service.js';

describe('AccessSourceService', () => {
  let testApp: IdentityTestApp;
  let source: AccessSourceService;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({ MFA_FORCE_FOR_PARTNER_ADMIN: 'true' });
    source = identity.app.get(AccessSourceService, { strict: false });
  }, 120_000);
  afterAll(() => testApp.stop());

  const requestOf = ({ userId, partnerId, bearer }: TestUser): AccessResolveRequest => ({
    userId,
    sessionId: claimsOf(bearer).sid,
    scope: 'partner',
    partnerId,
    orgId: null,
  });
  const closeWindow = ({ userId }: TestUser) =>
    testApp.query(`update user_account set mfa_grace_granted_at = null, mfa_enrollment_deadline = null where id = $1`, [
      userId,
    ]);
  const setSecurity = ({ partnerId }: TestUser, security: object) =>
    testApp.query('update partner set settings = $2 where id = $1', [partnerId, JSON.stringify({ security })]);

  it('returns the access of a session, and null for an unknown user', async () => {
    const user = await registerPartner(identity);
    const request = requestOf(user);
    expect(await source.resolve(request)).toMatchObject({
      userId: user.userId,
      email: user.email,
      sessionId: request.sessionId,
      userStatus: 'active',
      sessionRevoked: false,
      membershipExists: true,
      partnerStatus: 'active',
      orgAccess: 'all',
      ipAllowlist: [],
      isPlatformAdmin: false,
      version: expect.any(Number),
    });
    expect(await source.resolve({ ...request, userId: randomUUID() })).toBeNull();
    expect(await source.resolve({ ...request, sessionId: randomUUID() })).toMatchObject({ sessionRevoked: true });
  });

  it('evaluates the security policy of the partner', async () => {
    const user = await registerPartner(identity);
    const security = { requireMfa: true, allowedMfaMethods: { sms: false }, ipAllowlist: ['192.0.2.0/24'] };
    await setSecurity(user, security);
    expect(await source.resolve(requestOf(user))).toMatchObject({
      mfaEnrollmentRequired: true,
      allowedMfaMethods: ['totp', 'passkey'],
      ipAllowlist: ['192.0.2.0/24'],
    });
  });

  it('opens the enrollment window only when asked to', async () => {
    const user = await registerPartner(identity);
    await closeWindow(user);
    const request = requestOf(user);
    expect(await source.resolve(request)).toMatchObject({ mfaGraceDue: true, mfaEnrollmentRequired: false });
    expect(await source.resolve(request)).toMatchObject({ mfaGraceDue: true });
    expect(await source.resolve({ ...request, opensMfaGrace: true })).toMatchObject({ mfaGraceDue: false });
    const [row] = await testApp.query(
      'select mfa_enrollment_deadline > now() as open from user_account where id = $1',
      [user.userId],
    );
    expect(row).toEqual({ open: true });
    const inFuture = expect.any(Number);
    expect(await source.resolve(request)).toMatchObject({ mfaDeadline: inFuture, mfaEnrollmentRequired: false });
  });

  it('returns the grants of a user in an organization, and whether the account is active', async () => {
    const user = await registerPartner(identity);
    const request = { userId: user.userId, partnerId: user.partnerId, orgId: randomUUID() };
    const access = await source.resolveInOrganization(request);
    expect(access).toMatchObject({ userId: user.userId, email: user.email, active: true });
    expect(access?.grants).toEqual([
      { scope: 'partner', permissions: expect.any(Array), siteIds: null, deviceGroupIds: null },
    ]);
    expect(await source.resolveInOrganization({ ...request, partnerId: randomUUID() })).toMatchObject({ grants: [] });
    expect(await source.resolveInOrganization({ ...request, userId: randomUUID() })).toBeNull();
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [user.userId]);
    expect(await source.resolveInOrganization(request)).toMatchObject({ active: false });
  });
});
