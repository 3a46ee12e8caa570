import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { FakeProvisioning } from '../../test/fake-provisioning.js';
import {
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  type TestResponse,
} from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, sessionOf, signInAdmin, type TestUser } from '../../test/users.js';

const UNKNOWN = '7d9f2c1e-0000-4000-8000-000000000000';
const codeOf = ({ status, body }: TestResponse) => (status < 300 ? status : (body.code as string));

describe('invitations', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let acme: TestUser;
  let other: TestUser;
  let viewer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    acme = await registerPartner(identity, 'Acme MSP');
    other = await registerPartner(identity, 'Other MSP');
    viewer = await roleId(identity, acme.bearer, 'Partner Viewer');
  }, 120_000);
  afterAll(() => testApp.stop());

  const invite = (bearer: string, body: Record<string, unknown>) => identity.post('/users/invite', body, { bearer });
  const withOrganization = async (partnerId: string) => {
    const [row] = await testApp.query<{ id: string }>(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values (gen_random_uuid(), $1, 'Customer', 'customer-' || gen_random_uuid(), 'active', 1) returning org_id as id`,
      [partnerId],
    );
    return row.id;
  };

  it('are mailed once per scope', async () => {
    const email = freshEmail();
    const invited = expectStatus(await invite(acme.bearer, { email, name: 'Robin Vale', roleId: viewer }), 201);
    expect(invited.body).toEqual({
      id: expect.any(String),
      email,
      name: 'Robin Vale',
      status: 'invited',
      membershipStatus: 'pending',
      roleId: viewer,
      inviteEmailSent: true,
    });
    const again = await invite(acme.bearer, { email, name: 'Robin Vale', roleId: viewer });
    expect(again).toMatchObject({
      status: 409,
      body: { code: 'user_already_exists', error: 'User already exists in this scope' },
    });
    expect(await identity.mailedToken(email)).toHaveLength(48);
  });

  it('store tokens as hashes, and mails without values once sent', async () => {
    const email = freshEmail();
    expectStatus(await invite(acme.bearer, { email, name: 'Robin', roleId: viewer }), 201);
    const token = await identity.mailedToken(email);
    const [dump] = await testApp.query<{ rows: string }>(
      `select (select json_agg(t)::text from invitation t) || (select json_agg(m)::text from mail m) as rows`,
    );
    expect(dump.rows).not.toContain(token);
  });

  it('list users of their own tenant only', async () => {
    const viewer = await roleId(identity, other.bearer, 'Partner Viewer');
    const foreigner = await inviteAndAccept(identity, other.bearer, { roleId: viewer });
    const list = expectStatus(await identity.get('/users?limit=100', { bearer: acme.bearer }), 200);
    const ids = (list.body.data as { id: string }[]).map(({ id }) => id);
    expect(ids).toContain(acme.userId);
    expect(ids).not.toContain(other.userId);
    expect(ids).not.toContain(foreigner.userId);
    expect(list.body.pagination).toEqual({ page: 1, limit: 100, total: ids.length });
    expect(list.body.data[0]).toMatchObject({
      mfaStatus: 'not_required',
      mfaEnrollmentDeadline: null,
      orgAccess: expect.any(String),
    });

    const hidden = await identity.get(`/users/${foreigner.userId}`, { bearer: acme.bearer });
    const random = await identity.get('/users/7d9f2c1e-0000-4000-8000-000000000000', { bearer: acme.bearer });
    expect(hidden).toMatchObject({ status: 404, body: { code: 'not_found', error: 'User not found' } });
    expect({ ...hidden.body, requestId: '' }).toEqual({ ...random.body, requestId: '' });
    expect((await identity.get('/users/not-a-uuid', { bearer: acme.bearer })).status).toBe(404);
  });

  it('refuse roles with permissions the caller does not have, and roles of another scope or tenant', async () => {
    const orgId = await withOrganization(acme.partnerId);
    const orgAdminRole = await roleId(identity, acme.bearer, 'Org Admin', `&orgId=${orgId}`);
    const partnerAdminRole = await roleId(identity, acme.bearer, 'Partner Admin');
    const foreignAdminRole = await roleId(identity, other.bearer, 'Partner Admin');
    const orgAdmin = await inviteAndAccept(identity, acme.bearer, { roleId: orgAdminRole, orgId });

    const user = () => ({ email: freshEmail(), name: 'Sam' });
    const wrongScope = await invite(acme.bearer, { ...user(), roleId: orgAdminRole });
    expect(wrongScope).toMatchObject({ status: 400, body: { code: 'invalid_role_scope' } });
    const foreign = await invite(acme.bearer, { ...user(), roleId: foreignAdminRole });
    expect(foreign.status).toBe(400);
    const up = await invite(orgAdmin.bearer, { ...user(), roleId: partnerAdminRole });
    expect(up.status).toBe(400);
    expect((await invite(orgAdmin.bearer, { ...user(), roleId: orgAdminRole })).status).toBe(201);
    const foreignOrg = await invite(acme.bearer, {
      ...user(),
      roleId: orgAdminRole,
      orgId: await withOrganization(other.partnerId),
    });
    expect(foreignOrg).toMatchObject({ status: 403, body: { code: 'organization_access_denied' } });

    const technicianRole = await roleId(identity, acme.bearer, 'Partner Technician');
    const technician = await inviteAndAccept(identity, acme.bearer, { roleId: technicianRole });
    const unpermitted = await invite(technician.bearer, { ...user(), roleId: technicianRole });
    expect(unpermitted).toMatchObject({ status: 403, body: { code: 'permission_denied', required: ['users:invite'] } });
  });

  it('give organization members access to that organization only', async () => {
    const [mine, theirs] = [await withOrganization(acme.partnerId), await withOrganization(acme.partnerId)];
    const role = await roleId(identity, acme.bearer, 'Org Admin', `&orgId=${mine}`);
    const admin = await inviteAndAccept(identity, acme.bearer, { roleId: role, orgId: mine });
    const neighbor = await inviteAndAccept(identity, acme.bearer, { roleId: role, orgId: theirs });
    const list = expectStatus(await identity.get('/users', { bearer: admin.bearer }), 200);
    expect((list.body.data as { id: string }[]).map(({ id }) => id)).toEqual([admin.userId]);
    expect((await identity.get(`/users/${neighbor.userId}`, { bearer: admin.bearer })).status).toBe(404);
    const named = await identity.get(`/users?orgId=${theirs}`, { bearer: admin.bearer });
    expect(named).toMatchObject({ status: 403, body: { code: 'organization_access_denied' } });
    expect((await identity.get('/orgs/partners/me', { bearer: admin.bearer })).body.code).toBe('scope_not_allowed');
  });

  it('refuse sites beyond those the caller is restricted to', async () => {
    const orgId = await withOrganization(acme.partnerId);
    const role = await roleId(identity, acme.bearer, 'Org Admin', `&orgId=${orgId}`);
    const [site, elsewhere, unknown] = [randomUUID(), randomUUID(), randomUUID()];
    const unanswered = { roleId: role, orgId, siteIds: [site] };
    const alone = await invite(acme.bearer, { email: freshEmail(), name: 'Robin', ...unanswered });
    expect([alone.status, alone.body.code]).toEqual([503, 'service_unavailable']);
    const provisioning = await FakeProvisioning.start(testApp, new Set([site, elsewhere]));
    const strange = await invite(acme.bearer, {
      email: freshEmail(),
      name: 'Robin',
      ...unanswered,
      siteIds: [unknown],
    });
    expect(Object.keys(strange.body.details.fieldErrors as object)).toEqual(['siteIds.0']);
    const restricted = await inviteAndAccept(identity, acme.bearer, { roleId: role, orgId, siteIds: [site] });
    for (const siteIds of [undefined, [elsewhere], [site, elsewhere]]) {
      const refused = await invite(restricted.bearer, { email: freshEmail(), name: 'Robin', roleId: role, siteIds });
      expect(refused).toMatchObject({ status: 403, body: { code: 'site_access_denied' } });
    }
    for (const siteIds of [[site], []]) {
      expectStatus(await invite(restricted.bearer, { email: freshEmail(), name: 'Robin', roleId: role, siteIds }), 201);
    }
    await provisioning.stop();
  });

  it('are refused to partner members with selected organizations', async () => {
    const orgId = await withOrganization(acme.partnerId);
    const role = await roleId(identity, acme.bearer, 'Partner Admin');
    const limited = await inviteAndAccept(identity, acme.bearer, {
      roleId: role,
      orgAccess: 'selected',
      orgIds: [orgId],
    });
    for (const path of ['/users', '/roles', '/users/roles']) {
      const refused = await identity.get(path, { bearer: limited.bearer });
      expect(refused).toMatchObject({ status: 403, body: { code: 'full_partner_access_required' } });
    }
  });

  it("let roles be assigned, but not one's own, nor away from the last administrator", async () => {
    const [viewer, admin] = [
      await roleId(identity, acme.bearer, 'Partner Viewer'),
      await roleId(identity, acme.bearer, 'Partner Admin'),
    ];
    const user = await inviteAndAccept(identity, acme.bearer, { roleId: admin });
    const change = (bearer: string, userId: string, to: string) =>
      identity.post(`/users/${userId}/role`, { roleId: to }, { bearer });
    expect((await change(acme.bearer, acme.userId, viewer)).body.code).toBe('self_action_refused');
    expectStatus(await change(acme.bearer, user.userId, viewer), 200);
    expect((await identity.get('/users', { bearer: user.bearer })).status).toBe(403);
    expect((await change(other.bearer, user.userId, viewer)).status).toBe(404);

    const root = await signInAdmin(identity);
    const last = await identity.post(
      `/users/${other.userId}/role`,
      {
        roleId: await roleId(identity, root, 'Partner Viewer', `&partnerId=${other.partnerId}`),
        partnerId: other.partnerId,
      },
      { bearer: root },
    );
    expect(last).toMatchObject({ status: 409, body: { code: 'last_admin' } });
  });

  it('require a system caller to name a partner or organization', async () => {
    const root = await signInAdmin(identity);
    expect((await identity.get('/users', { bearer: root })).body.code).toBe('context_required');
    const list = expectStatus(await identity.get(`/users?partnerId=${acme.partnerId}`, { bearer: root }), 200);
    expect((list.body.data as { id: string }[]).map(({ id }) => id)).toContain(acme.userId);
    const nobodys = { partnerId: randomUUID(), email: freshEmail(), name: 'Robin', roleId: randomUUID() };
    for (const refused of [
      await identity.get(`/users?partnerId=${nobodys.partnerId}`, { bearer: root }),
      await invite(root, nobodys),
    ]) {
      expect(refused).toMatchObject({ status: 403, body: { code: 'partner_access_denied' } });
    }
  });

  it('by two tenants have a link each, which accepts that invitation alone', async () => {
    const email = freshEmail();
    const theirs = await roleId(identity, other.bearer, 'Partner Viewer');
    const first = await identity.post('/users/invite', { email, name: 'Robin', roleId: viewer }, acme);
    const userId = expectStatus(first, 201).body.id as string;
    const token = await identity.mailedToken(email);
    expectStatus(await identity.post('/users/invite', { email, name: 'Robin', roleId: theirs }, other), 201);
    const second = await identity.mailedToken(email, 2);
    expect(codeOf(await identity.delete(`/users/${userId}`, other))).toBe('not_found');
    const accepted = await identity.post('/auth/accept-invite', { token, password: PASSWORD });
    const me = await identity.get('/auth/me', sessionOf(expectStatus(accepted, 200)));
    expect(me.body.memberships).toEqual([expect.objectContaining({ partnerId: acme.partnerId, current: true })]);
    expect(me.body.pendingMemberships).toEqual([expect.objectContaining({ partnerId: other.partnerId })]);
    expectStatus(await identity.delete(`/users/invitations/${userId}`, other), 200);
    expect(codeOf(await identity.post('/auth/accept-invite', { token: second, password: PASSWORD }))).toBe(
      'invite_invalid',
    );
  });

  it('are sent again with a new link that invalidates the previous one', async () => {
    const email = freshEmail();
    const invited = await identity.post('/users/invite', { email, name: 'Robin', roleId: viewer }, acme);
    const userId = expectStatus(invited, 201).body.id as string;
    const old = await identity.mailedToken(email);
    const resent = await identity.post('/users/resend-invite', { userId }, acme);
    expect(expectStatus(resent, 200).body).toEqual({ success: true, inviteEmailSent: true });
    const fresh = await identity.mailedToken(email, 2);
    expect((await identity.post('/auth/accept-invite', { token: old, password: PASSWORD })).body.code).toBe(
      'invite_invalid',
    );
    expectStatus(await identity.post('/auth/accept-invite', { token: fresh, password: PASSWORD }), 200);
    const late = await identity.post('/users/resend-invite', { userId }, acme);
    expect([late.status, late.body.code]).toEqual([400, 'user_not_invited']);
  });

  it('are not sent again by other tenants or without the permission', async () => {
    const invited = await identity.post('/users/invite', { email: freshEmail(), name: 'R', roleId: viewer }, acme);
    const { id: userId } = expectStatus(invited, 201).body;
    const permissions = [{ resource: 'users', action: 'read' }];
    const readers = expectStatus(await identity.post('/roles', { name: 'Reader', permissions }, acme), 201);
    const reader = await inviteAndAccept(identity, acme.bearer, { roleId: readers.body.id, orgAccess: 'all' });
    const responses = await Promise.all([
      identity.post('/users/resend-invite', { userId }, other),
      identity.post('/users/resend-invite', { userId: UNKNOWN }, acme),
      identity.post('/users/resend-invite', { userId }, reader),
      identity.post('/users/resend-invite', { userId: 'x' }, acme),
      identity.post('/users/resend-invite', { userId, roleId: viewer }, acme),
    ]);
    const expected = ['not_found', 'not_found', 'permission_denied', 'validation_failed', 'validation_failed'];
    expect(responses.map(codeOf)).toEqual(expected);
  });

  it('of one address at the same time add one member', async () => {
    const body = { email: freshEmail(), name: 'Robin', roleId: viewer, orgAccess: 'all' };
    const responses = await Promise.all(
      [identity, await testApp.startReplica()].map((replica) => replica.post('/users/invite', body, acme)),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  describe('that are open', () => {
    const listed = async (user: TestUser, query = '') =>
      expectStatus(await identity.get(`/users/invitations?limit=100${query}`, user), 200).body;
    const withdraw = (userId: string, user: { bearer: string } = acme) =>
      identity.delete(`/users/invitations/${userId}`, user);
    const open = async () => {
      const email = freshEmail();
      const invited = expectStatus(await invite(acme.bearer, { email, name: 'Robin Vale', roleId: viewer }), 201);
      return { email, userId: invited.body.id as string, token: await identity.mailedToken(email) };
    };

    it('are listed page by page, newest first, to their own tenant until they are accepted', async () => {
      const [older, newer] = [await open(), await open()];
      const page = await listed(acme, '&page=1');
      expect((page.data as { id: string }[]).slice(0, 2)).toMatchObject([
        { id: newer.userId, email: newer.email, name: 'Robin Vale', roleId: viewer, invitedBy: acme.userId },
        { id: older.userId },
      ]);
      expect(page.pagination).toMatchObject({ page: 1, limit: 100, total: (page.data as unknown[]).length });
      expectStatus(await identity.post('/auth/accept-invite', { token: newer.token, password: PASSWORD }), 200);
      const ids = ((await listed(acme)).data as { id: string }[]).map(({ id }) => id);
      expect(ids).toContain(older.userId);
      expect(ids).not.toContain(newer.userId);
      expect(((await listed(other)).data as { id: string }[]).map(({ id }) => id)).not.toContain(older.userId);
    });

    it('are withdrawn once, with their link, and recorded', async () => {
      const { email, userId, token } = await open();
      const responses = await Promise.all([withdraw(userId), withdraw(userId)]);
      expect(responses.map(codeOf).sort()).toEqual([200, 'not_found']);
      expect(codeOf(await identity.post('/auth/accept-invite', { token, password: PASSWORD }))).toBe('invite_invalid');
      await eventually(async () => {
        const entries = await testApp.query(
          `SELECT resource_name AS name, details FROM audit_entry
           WHERE action = 'user.invite.withdrawn' AND resource_id = $1`,
          [userId],
        );
        expect(entries).toEqual([{ name: email, details: { roleId: viewer } }]);
      });
    });

    it('are not withdrawn by another tenant, nor by a caller with fewer permissions than they grant', async () => {
      const { userId } = await open();
      const permissions = [{ resource: 'users', action: 'invite' }];
      const role = expectStatus(await identity.post('/roles', { name: 'Helper', permissions }, acme), 201).body.id;
      const helper = await inviteAndAccept(identity, acme.bearer, { roleId: role as string, orgAccess: 'all' });
      expect(codeOf(await withdraw(userId, other))).toBe('not_found');
      expect(codeOf(await withdraw(userId, helper))).toBe('permission_not_delegable');
      expect(codeOf(await withdraw(UNKNOWN))).toBe('not_found');
      expect(codeOf(await withdraw(userId))).toBe(200);
    });
  });
});
