import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { FakeProvisioning } from '../../test/fake-provisioning.js';
import {
  expectStatus,
  IdentityTestApp,
  type IdentityReplica,
  type TestResponse,
} from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, signInAdmin, type TestUser } from '../../test/users.js';

const codeOf = ({ status, body }: TestResponse) => (status < 300 ? status : (body.code as string));

describe('changes of members', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let replicas: IdentityReplica[];
  let owner: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    replicas = [identity, await testApp.startReplica()];
    owner = await registerPartner(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const organization = async (partnerId: string) => {
    const [{ orgId }] = await testApp.query<{ orgId: string }>(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       VALUES (gen_random_uuid(), $1, 'Customer', 'c-' || gen_random_uuid(), 'active', 1) RETURNING org_id AS "orgId"`,
      [partnerId],
    );
    return orgId;
  };
  const change = (bearer: string, userId: string, body: object) =>
    identity.patch(`/users/${userId}/membership`, body, { bearer });
  const on = (n: number) => replicas[n % replicas.length] ?? identity;

  describe('changes of access', () => {
    it('take effect at once and end no session', async () => {
      const [mine, other] = [await organization(owner.partnerId), await organization(owner.partnerId)];
      const role = await roleId(identity, owner.bearer, 'Partner Technician');
      const user = await inviteAndAccept(identity, owner.bearer, { roleId: role, orgAccess: 'all' });
      const selected = expectStatus(
        await change(owner.bearer, user.userId, { orgAccess: 'selected', orgIds: [mine] }),
        200,
      );
      expect(selected.body).toMatchObject({ id: user.userId, orgAccess: 'selected', orgIds: [mine], roleId: role });
      const moved = expectStatus(await change(owner.bearer, user.userId, { orgIds: [other] }), 200);
      expect(moved.body).toMatchObject({ orgAccess: 'selected', orgIds: [other] });
      expect(expectStatus(await change(owner.bearer, user.userId, { orgAccess: 'none' }), 200).body).toMatchObject({
        orgAccess: 'none',
        orgIds: [],
      });
      expectStatus(await identity.get('/users/me', user), 200);
      await eventually(async () => {
        const entries = await testApp.query('SELECT details FROM audit_entry WHERE action = $1 AND resource_id = $2', [
          'user.membership.update',
          user.userId,
        ]);
        expect(entries).toHaveLength(3);
      });
    });

    it.each([
      [{}, 'validation_failed'],
      [{ orgAccess: 'selected' }, 'validation_failed'],
      [{ orgAccess: 'all', orgIds: [randomUUID()] }, 'validation_failed'],
      [{ siteIds: [randomUUID()] }, 'validation_failed'],
      [{ roleId: randomUUID() }, 'validation_failed'],
    ])('refuse %j', async (body, code) => {
      const role = await roleId(identity, owner.bearer, 'Partner Viewer');
      const user = await inviteAndAccept(identity, owner.bearer, { roleId: role });
      expect(codeOf(await change(owner.bearer, user.userId, body))).toBe(code);
    });

    it('refuse oneself, strangers, and members with more permissions', async () => {
      const permissions = [
        { resource: 'users', action: 'read' },
        { resource: 'users', action: 'write' },
      ];
      const created = expectStatus(await identity.post('/roles', { name: 'Helper', permissions }, owner), 201);
      const helper = await inviteAndAccept(identity, owner.bearer, { roleId: created.body.id });
      const stranger = await registerPartner(identity);
      const body = { orgAccess: 'none' };
      expect(codeOf(await change(owner.bearer, owner.userId, body))).toBe('self_action_refused');
      expect(codeOf(await change(stranger.bearer, helper.userId, body))).toBe('not_found');
      expect(codeOf(await change(helper.bearer, owner.userId, body))).toBe('permission_not_delegable');
    });
  });

  describe('the last administrator with access to all organizations', () => {
    const root = () => signInAdmin(identity);
    const admins = (partnerId: string) =>
      testApp.query(
        `SELECT m.id FROM partner_membership m JOIN role r ON r.id = m.role_id
         WHERE m.partner_id = $1 AND r.system_key = 'partner_admin' AND m.org_access = 'all'`,
        [partnerId],
      );
    /** A partner with one full administrator and one without access to organizations. */
    const withHollowAdmin = async () => {
      const first = await registerPartner(identity);
      const role = await roleId(identity, first.bearer, 'Partner Admin');
      await inviteAndAccept(identity, first.bearer, { roleId: role, orgAccess: 'none' });
      return { ...first, role };
    };

    it('cannot be removed, demoted, restricted or leave', async () => {
      const admin = await withHollowAdmin();
      const bearer = await root();
      const { partnerId, userId } = admin;
      const viewer = await roleId(identity, bearer, 'Partner Viewer', `&partnerId=${partnerId}`);
      const responses = [
        await identity.delete(`/users/${userId}?partnerId=${partnerId}`, { bearer }),
        await identity.post(`/users/${userId}/role`, { roleId: viewer, partnerId }, { bearer }),
        await change(bearer, userId, { partnerId, orgAccess: 'none' }),
        await identity.post('/auth/leave', { partnerId }, admin),
      ];
      expect(responses.map(codeOf)).toEqual(['last_admin', 'last_admin', 'last_admin', 'last_admin']);
    });

    it('remains when two administrators act on each other at the same time', async () => {
      for (let round = 0; round < 20; round += 1) {
        const first = await withHollowAdmin();
        const second = await inviteAndAccept(identity, first.bearer, { roleId: first.role, orgAccess: 'all' });
        const viewer = await roleId(identity, first.bearer, 'Partner Viewer');
        const attacks = [
          (by: TestUser, userId: string, n: number) => on(n).delete(`/users/${userId}`, by),
          (by: TestUser, userId: string, n: number) => on(n).post(`/users/${userId}/role`, { roleId: viewer }, by),
          (by: TestUser, userId: string, n: number) =>
            on(n).patch(`/users/${userId}/membership`, { orgAccess: 'none' }, by),
          (by: TestUser, _: string, n: number) => on(n).post('/auth/leave', { partnerId: first.partnerId }, by),
        ];
        const attack = attacks[round % attacks.length];
        const responses = await Promise.all([attack?.(first, second.userId, 0), attack?.(second, first.userId, 1)]);
        const left = await admins(first.partnerId);
        expect({ round, left: left.length, done: responses.filter((r) => r?.status === 200).length }).toEqual({
          round,
          left: 1,
          done: 1,
        });
      }
    }, 240_000);

    it('is left by 20 administrators who leave at the same time', async () => {
      const { partnerId, bearer } = await registerPartner(identity);
      const role = await roleId(identity, bearer, 'Partner Admin');
      const others: TestUser[] = [];
      for (let n = 0; n < 19; n += 1) others.push(await inviteAndAccept(identity, bearer, { roleId: role }));
      const all = [{ bearer }, ...others];
      const responses = await Promise.all(all.map((user, n) => on(n).post('/auth/leave', { partnerId }, user)));
      expect(responses.map(codeOf).filter((code) => code !== 200)).toEqual(['last_admin']);
      expect(await admins(partnerId)).toHaveLength(1);
    }, 120_000);
  });

  it('never wait for each other in a circle when a user is removed and invited at once', async () => {
    const admin = await registerPartner(identity);
    const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
    const user = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
    const invite = { email: user.email, name: 'Robin Vale', roleId: viewer };
    for (let round = 0; round < 3; round += 1) {
      const calls = Array.from({ length: 10 }, () => [
        identity.delete(`/users/${user.userId}`, admin),
        identity.post('/users/invite', invite, admin),
      ]);
      const statuses = (await Promise.all(calls.flat())).map(({ status }) => status);
      expect(statuses.filter((status) => ![200, 201, 404, 409].includes(status))).toEqual([]);
    }
  });

  describe('a caller restricted to sites', () => {
    let orgId: string;
    let site: string;
    let group: string;
    let provisioning: FakeProvisioning;
    let restricted: TestUser;
    let free: TestUser;
    let below: TestUser;
    let orgViewer: string;
    let orgAdmin: string;

    beforeAll(async () => {
      orgId = await organization(owner.partnerId);
      site = randomUUID();
      group = randomUUID();
      provisioning = await FakeProvisioning.start(testApp, new Set([site]), new Set([group]));
      orgAdmin = await roleId(identity, owner.bearer, 'Org Admin', `&orgId=${orgId}`);
      orgViewer = await roleId(identity, owner.bearer, 'Org Viewer', `&orgId=${orgId}`);
      restricted = await inviteAndAccept(identity, owner.bearer, { roleId: orgAdmin, orgId, siteIds: [site] });
      below = await inviteAndAccept(identity, owner.bearer, { roleId: orgViewer, orgId, siteIds: [site] });
      free = await inviteAndAccept(identity, owner.bearer, { roleId: orgViewer, orgId });
      const { bearer } = await enrollTotp(identity, restricted.bearer);
      restricted = { ...restricted, bearer };
    }, 120_000);
    afterAll(() => provisioning.stop());

    it('lists members and invitations of its sites alone, and its own audit entries', async () => {
      const ids = async (path: string) =>
        (expectStatus(await identity.get(path, restricted), 200).body.data as { id: string }[]).map(({ id }) => id);
      expect(await ids('/users')).toEqual([below.userId, restricted.userId]);
      expect(await ids(`/roles/${orgViewer}/users`)).toEqual([below.userId]);
      expect(codeOf(await identity.get(`/users/${free.userId}`, restricted))).toBe('site_access_denied');
      const invitation = { name: 'Robin', roleId: orgViewer, orgId };
      const wide = await identity.post('/users/invite', { ...invitation, email: 'wide@users.test' }, owner);
      const sited = { ...invitation, email: 'sited@users.test', siteIds: [site] };
      const within = expectStatus(await identity.post('/users/invite', sited, owner), 201);
      expect(await ids('/users/invitations')).toEqual([within.body.id]);
      const { id: userId } = expectStatus(wide, 201).body;
      expect(codeOf(await identity.post('/users/resend-invite', { userId }, restricted))).toBe('site_access_denied');
      expect(codeOf(await identity.delete(`/users/invitations/${userId}`, restricted))).toBe('site_access_denied');
      await eventually(async () => {
        const entries = expectStatus(await identity.get('/audit-logs?limit=100', restricted), 200).body.data;
        const actors = (entries as { actorId: string }[]).map(({ actorId }) => actorId);
        expect(new Set(actors)).toEqual(new Set([restricted.userId]));
      });
    });

    it('changes no member with more sites, and manages no roles', async () => {
      const { userId } = free;
      const role = expectStatus(await identity.post('/roles', { name: 'Custom', orgId }, owner), 201).body;
      const responses = [
        await identity.post(`/users/${userId}/mfa/reset`, {}, restricted),
        await change(restricted.bearer, userId, { siteIds: [site] }),
        await change(restricted.bearer, below.userId, { siteIds: null }),
        await identity.post('/roles', { name: 'Mine' }, restricted),
        await identity.patch(`/roles/${role.id}`, { name: 'Mine' }, restricted),
        await identity.post(`/roles/${role.id}/clone`, { name: 'Mine' }, restricted),
        await identity.delete(`/roles/${role.id}`, restricted),
      ];
      expect(new Set(responses.map(codeOf))).toEqual(new Set(['site_access_denied']));
      expectStatus(await change(restricted.bearer, below.userId, { siteIds: [] }), 200);
    });

    it('and every other caller name no unknown device group', async () => {
      const unknown = randomUUID();
      const body = { email: 'group@users.test', name: 'R', roleId: orgViewer, orgId, deviceGroupIds: [group, unknown] };
      const refused = await identity.post('/users/invite', body, owner);
      expect(Object.keys(refused.body.details.fieldErrors as object)).toEqual(['deviceGroupIds.1']);
      const changed = await change(owner.bearer, free.userId, { orgId, deviceGroupIds: [unknown] });
      expect(Object.keys(changed.body.details.fieldErrors as object)).toEqual(['deviceGroupIds.0']);
    });

    it('restricts a member to device groups of the organization', async () => {
      const invited = { email: 'grouped@users.test', name: 'R', roleId: orgViewer, orgId, deviceGroupIds: [group] };
      expectStatus(await identity.post('/users/invite', invited, owner), 201);
      const member = expectStatus(
        await change(owner.bearer, free.userId, { orgId, deviceGroupIds: [group] }),
        200,
      ).body;
      expect(member.deviceGroupIds).toEqual([group]);
      expectStatus(await change(owner.bearer, free.userId, { orgId, deviceGroupIds: null }), 200);
    });
  });

  it('lets organization administrators see that the partner requires a factor', async () => {
    const partner = await registerPartner(identity);
    const orgId = await organization(partner.partnerId);
    const orgAdmin = await roleId(identity, partner.bearer, 'Org Admin', `&orgId=${orgId}`);
    const admin = await inviteAndAccept(identity, partner.bearer, { roleId: orgAdmin, orgId });
    const { bearer } = await enrollTotp(identity, admin.bearer);
    const late = await inviteAndAccept(identity, partner.bearer, { roleId: orgAdmin, orgId });
    await testApp.query(`UPDATE partner SET settings = '{"security": {"requireMfa": true}}' WHERE id = $1`, [
      partner.partnerId,
    ]);
    const list = expectStatus(await identity.get('/users', { bearer }), 200).body.data as object[];
    expect(list).toContainEqual(expect.objectContaining({ id: late.userId, mfaStatus: 'overdue' }));
    expect(list).toContainEqual(expect.objectContaining({ id: admin.userId, mfaStatus: 'enrolled' }));
  });
});
