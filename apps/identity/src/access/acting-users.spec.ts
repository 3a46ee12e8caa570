import { randomUUID } from 'node:crypto';
import type { ActingUser, ApplySecurityPolicyRequest } from '@rmm/contracts';
import type { IdentityReplica } from '../../test/identity-test-app.js';
import { PolicyTestApp } from '../../test/policy-test-app.js';
import { actingUserOf, inviteAndAccept, roleId, type TestUser } from '../../test/users.js';

/** Seen by the one request that acts for a user so far: the change of an organization's policy. */
describe('a user whom another service acts for', () => {
  let testApp: PolicyTestApp;
  let identity: IdentityReplica;
  let admin: TestUser;
  let asked: ApplySecurityPolicyRequest;
  const withCaller = (caller: Partial<ActingUser>) =>
    testApp.refusal({ ...asked, caller: { ...asked.caller, ...caller } });
  const withTenant = (tenant: Partial<ActingUser['tenant']>) =>
    withCaller({ tenant: { ...asked.caller.tenant, ...tenant } });
  const invalid = { status: 401, code: 'unauthenticated' };

  beforeAll(async () => {
    testApp = await PolicyTestApp.start();
    identity = testApp.identity;
    admin = await testApp.protectedPartner();
    asked = testApp.request(admin, await testApp.withOrganization(admin.partnerId), { requireMfa: true });
  }, 120_000);
  afterAll(() => testApp.stop());

  it('refuses a user that does not exist, a session of another user and one that does not exist', async () => {
    const other = await testApp.protectedPartner();
    expect(await withCaller({ userId: randomUUID() })).toMatchObject(invalid);
    expect(await withCaller({ sessionId: randomUUID() })).toMatchObject(invalid);
    expect(await withCaller({ sessionId: actingUserOf(other).sessionId })).toMatchObject(invalid);
  });

  it('refuses a scope or tenant that is not the one of the session', async () => {
    expect(await withTenant({ scope: 'system', partnerId: null })).toMatchObject(invalid);
    expect(await withTenant({ partnerId: randomUUID() })).toMatchObject(invalid);
    expect(await withTenant({ scope: 'organization', orgId: asked.orgId })).toMatchObject(invalid);
  });

  it('refuses a user without the permission, or without access to the organization', async () => {
    const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
    const member = {
      ...(await inviteAndAccept(identity, admin.bearer, { roleId: viewer })),
      partnerId: admin.partnerId,
    };
    expect(await withCaller(actingUserOf(member))).toMatchObject({ status: 403, code: 'permission_denied' });
    await testApp.query(`update partner_membership set org_access = 'selected', org_ids = $2 where user_id = $1`, [
      member.userId,
      [randomUUID()],
    ]);
    expect(await withCaller(actingUserOf(member))).toMatchObject({ status: 404 });
    const claimed = actingUserOf(member);
    claimed.tenant.orgAccess = 'all';
    expect(await withCaller(claimed)).toMatchObject({ status: 404 });
  });

  it('refuses an ended session and stores nothing', async () => {
    await testApp.query('update session_family set revoked_at = now() where id = $1', [asked.caller.sessionId]);
    expect(await testApp.refusal(asked)).toMatchObject(invalid);
    expect(await testApp.query('select 1 from organization_security_policy where org_id = $1', [asked.orgId])).toEqual(
      [],
    );
  });

  it('refuses a request without a caller, or with claims in its place', async () => {
    const { caller: _, ...without } = asked;
    const claims = { userId: admin.userId, scope: 'system', mfa: true };
    for (const caller of [undefined, claims]) {
      expect(await testApp.refusal({ ...without, caller } as never)).toMatchObject({
        status: 400,
        code: 'validation_failed',
      });
    }
  });
});
