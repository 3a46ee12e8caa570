import { randomUUID } from 'node:crypto';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { claimsOf, inviteAndAccept, registerPartner, roleId, signInAdmin, type TestUser } from '../../test/users.js';
import { AccessRepository } from './access.repository.js';

describe('AccessRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let repository: AccessRepository;
  let user: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    repository = identity.app.get(AccessRepository, { strict: false });
    user = await registerPartner(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const sessionIdOf = (bearer: string) => claimsOf(bearer).sid;
  const request = (changes: object = {}) => ({
    userId: user.userId,
    sessionId: sessionIdOf(user.bearer),
    scope: 'partner' as const,
    partnerId: user.partnerId,
    orgId: null,
    ...changes,
  });

  it('reads account, session, role and partner of a session in one row', async () => {
    await testApp.query(`update partner set settings = '{"security": {"requireMfa": true}}' where id = $1`, [
      user.partnerId,
    ]);
    const access = await repository.findSessionAccess(request());
    expect(access).toMatchObject({
      email: user.email,
      status: 'active',
      hasFactor: false,
      everHadFactor: false,
      sessionActive: true,
      membershipExists: true,
      orgAccess: 'all',
      partnerStatus: 'active',
      partnerSecurity: { requireMfa: true },
      organizationSecurity: null,
      isPlatformAdmin: false,
    });
    expect(access?.permissions.length).toBeGreaterThan(0);
    expect(await repository.findSessionAccess(request({ userId: randomUUID() }))).toBeNull();
    await testApp.query(`update partner set settings = '{}' where id = $1`, [user.partnerId]);
  });

  it('reports a session of another user and a membership that does not exist', async () => {
    const other = await registerPartner(identity);
    const foreign = await repository.findSessionAccess(request({ sessionId: sessionIdOf(other.bearer) }));
    expect(foreign).toMatchObject({ sessionActive: false, membershipExists: true });
    const elsewhere = await repository.findSessionAccess(request({ partnerId: other.partnerId }));
    expect(elsewhere).toMatchObject({ membershipExists: false, roleId: null, permissions: [], partnerStatus: null });
    const system = await repository.findSessionAccess(request({ scope: 'system', partnerId: null }));
    expect(system).toMatchObject({ membershipExists: false, permissions: [] });
  });

  it('reports a revoked session and raises the version with each change', async () => {
    const viewer = await roleId(identity, user.bearer, 'Partner Viewer');
    const member = await inviteAndAccept(identity, user.bearer, { roleId: viewer });
    const read = () =>
      repository.findSessionAccess(request({ userId: member.userId, sessionId: sessionIdOf(member.bearer) }));
    const before = await read();
    await testApp.query('update session_family set revoked_at = now() where user_id = $1', [member.userId]);
    const after = await read();
    expect([before?.sessionActive, after?.sessionActive]).toEqual([true, false]);
    expect(Number(after?.version)).toBeGreaterThan(Number(before?.version));
  });

  it('lists grants of memberships with access to an organization only', async () => {
    const [orgId, other] = [randomUUID(), randomUUID()];
    const list = (id: string) =>
      repository.listOrganizationGrants({ userId: user.userId, partnerId: user.partnerId, orgId: id });
    expect(await list(orgId)).toEqual([
      expect.objectContaining({ email: user.email, scope: 'partner', roleId: expect.any(String), siteIds: null }),
    ]);
    await testApp.query(
      `update partner_membership set org_access = 'selected', org_ids = array[$2::uuid] where user_id = $1`,
      [user.userId, orgId],
    );
    expect((await list(orgId))[0]?.roleId).not.toBeNull();
    expect(await list(other)).toEqual([expect.objectContaining({ email: user.email, roleId: null })]);
    const unknown = { userId: randomUUID(), partnerId: user.partnerId, orgId };
    expect(await repository.listOrganizationGrants(unknown)).toEqual([]);
  });

  it('grants the system scope of a platform administrator in every organization', async () => {
    const admin = await signInAdmin(identity);
    const [{ id }] = await testApp.query<{ id: string }>('select id from user_account where is_platform_admin');
    const access = await repository.findSessionAccess(
      request({ userId: id, sessionId: sessionIdOf(admin), scope: 'system', partnerId: null }),
    );
    expect(access).toMatchObject({ isPlatformAdmin: true, membershipExists: true, orgAccess: 'all' });
    const named = { userId: id, partnerId: randomUUID(), orgId: randomUUID() };
    expect(await repository.listOrganizationGrants(named)).toEqual([expect.objectContaining({ scope: 'system' })]);
  });
});
