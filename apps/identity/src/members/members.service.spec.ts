import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type TestResponse,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, sessionOf, signInAdmin, type TestUser } from '../../test/users.js';

const pair = (resource: string, action: string) => ({ resource, action });
const UNKNOWN = '7d9f2c1e-0000-4000-8000-000000000000';
const codeOf = ({ status, body }: TestResponse) => (status < 300 ? status : (body.code as string));

describe('members', () => {
  let testApp: IdentityTestApp;
  let replicas: IdentityReplica[];
  let identity: IdentityReplica;
  let owner: TestUser;
  let stranger: TestUser;
  let viewer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    replicas = [identity, await testApp.startReplica()];
    owner = await registerPartner(identity);
    stranger = await registerPartner(identity, 'Other MSP');
    viewer = await roleId(identity, owner.bearer, 'Partner Viewer');
  }, 120_000);
  afterAll(() => testApp.stop());

  const member = (role = viewer) => inviteAndAccept(identity, owner.bearer, { roleId: role, orgAccess: 'all' });
  const memberWith = async (...permissions: object[]) => {
    const role = await identity.post('/roles', { name: 'Member', permissions }, owner);
    return member(expectStatus(role, 201).body.id as string);
  };
  const login = (email: string) => identity.post('/auth/login', { email, password: PASSWORD });

  it('are changed and removed for their entity tag only', async () => {
    const { userId } = await member();
    const path = `/users/${userId}`;
    const etag = (await identity.get(path, owner)).headers['etag'] ?? '';
    const ifMatch = (tag: string, { bearer } = owner) => ({ bearer, headers: { 'if-match': tag } });
    expect((await identity.get(path, { ...owner, headers: { 'if-none-match': etag } })).status).toBe(304);
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => identity.patch(`${path}/membership`, { orgAccess: 'none' }, ifMatch(etag))),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412]);
    const current = responses.find(({ status }) => status === 200)?.headers['etag'] ?? '';
    expect((await identity.get(path, owner)).headers['etag']).toBe(current);
    expect((await identity.delete(path, ifMatch(etag))).body.code).toBe('precondition_failed');
    expect((await identity.delete(path, ifMatch(current, stranger))).status).toBe(404);
    expect((await identity.delete(path, ifMatch(current))).status).toBe(200);
  });

  describe('that are removed', () => {
    it('lose membership and sessions, and remain users who can be invited again', async () => {
      const leaver = await member();
      expect((await identity.delete(`/users/${leaver.userId}`, owner)).body).toEqual({ success: true });
      for (const replica of replicas) {
        await eventually(async () => {
          expect((await replica.get('/users/me', leaver)).status).toBe(401);
        });
      }
      const csrf = leaver.cookies.service_csrf_token ?? '';
      const refresh = await identity.post(
        '/auth/refresh',
        {},
        { cookies: leaver.cookies, headers: { 'x-service-csrf': csrf } },
      );
      expect([refresh.status, refresh.body.code]).toEqual([401, 'refresh_invalid']);
      expect((await login(leaver.email)).body.code).toBe('login_failed');
      const [account] = await testApp.query<{ status: string }>('select status from user_account where id = $1', [
        leaver.userId,
      ]);
      expect(account).toEqual({ status: 'active' });

      // Invited again, the same account comes back with its password once it accepts.
      const again = await identity.post(
        '/users/invite',
        { email: leaver.email, name: 'Robin', roleId: viewer, orgAccess: 'all' },
        owner,
      );
      expect(expectStatus(again, 201).body).toMatchObject({ id: leaver.userId, status: 'active' });
      expect((await login(leaver.email)).body.code).toBe('login_failed');
      const token = await identity.mailedToken(leaver.email, 2);
      expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
      expect((await login(leaver.email)).status).toBe(200);
    });

    it('keep their memberships and sessions in other tenants', async () => {
      const leaver = await member();
      const theirs = await roleId(identity, stranger.bearer, 'Partner Viewer');
      const attached = { email: leaver.email, name: 'Other name', roleId: theirs, orgAccess: 'all' };
      expectStatus(await identity.post('/users/invite', attached, stranger), 201);
      const token = await identity.mailedToken(leaver.email, 2);
      const there = sessionOf(
        expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200),
      );
      const here = sessionOf(
        expectStatus(
          await identity.post('/auth/login', {
            email: leaver.email,
            password: PASSWORD,
            partnerId: owner.partnerId,
          }),
          200,
        ),
      );
      expectStatus(await identity.delete(`/users/${leaver.userId}`, owner), 200);
      await eventually(async () => expect((await identity.get('/users/me', here)).status).toBe(401));
      const me = expectStatus(await identity.get('/auth/me', there), 200);
      expectStatus(await login(leaver.email), 200);
      expect(me.body.user.name).toBe('Robin Vale');
      expect(me.body.memberships).toEqual([expect.objectContaining({ partnerId: stranger.partnerId })]);
    });

    it('cannot be removed by other tenants, without the permission, by themselves or by administrators with fewer permissions', async () => {
      const kept = await member();
      const technician = await memberWith(pair('devices', 'read'));
      const lesser = await memberWith(pair('users', 'read'), pair('users', 'delete'), pair('users', 'write'));
      const responses = await Promise.all([
        identity.delete(`/users/${kept.userId}`, stranger),
        identity.delete(`/users/${UNKNOWN}`, owner),
        identity.delete('/users/no-uuid', owner),
        identity.delete(`/users/${kept.userId}`, technician),
        identity.delete(`/users/${owner.userId}`, owner),
        identity.delete(`/users/${owner.userId}`, lesser),
        identity.post(`/users/${owner.userId}/role`, { roleId: viewer }, lesser),
      ]);
      expect(responses.map(codeOf)).toEqual([
        'not_found',
        'not_found',
        'not_found',
        'permission_denied',
        'self_action_refused',
        'permission_not_delegable',
        'permission_not_delegable',
      ]);
      expect((await identity.get('/users/me', kept)).status).toBe(200);
    });

    it('never include the last administrator, also when two remove each other at the same time', async () => {
      for (let round = 0; round < 3; round += 1) {
        const first = await registerPartner(identity);
        const admin = await roleId(identity, first.bearer, 'Partner Admin');
        const second = await inviteAndAccept(identity, first.bearer, { roleId: admin, orgAccess: 'all' });
        const [one, two] = replicas;
        const responses = await Promise.all([
          one?.delete(`/users/${second.userId}`, first),
          two?.delete(`/users/${first.userId}`, second),
        ]);
        const left = await testApp.query(
          `select m.id from partner_membership m join role r on r.id = m.role_id
           where m.partner_id = $1 and r.system_key = 'partner_admin'`,
          [first.partnerId],
        );
        expect({ left: left.length, done: responses.filter((response) => response?.status === 200).length }).toEqual({
          left: 1,
          done: 1,
        });
      }
      const root = await signInAdmin(identity);
      const alone = await identity.delete(`/users/${owner.userId}?partnerId=${owner.partnerId}`, { bearer: root });
      expect([alone.status, alone.body.code]).toEqual([409, 'last_admin']);
    });
  });

  it('cannot be removed or assigned a role by a caller who is restricted to fewer sites', async () => {
    const [{ orgId }] = await testApp.query<{ orgId: string }>(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values (gen_random_uuid(), $1, 'Customer', 'c-' || gen_random_uuid(), 'active', 1) returning org_id as "orgId"`,
      [owner.partnerId],
    );
    const orgAdmin = await roleId(identity, owner.bearer, 'Org Admin', `&orgId=${orgId}`);
    const orgViewer = await roleId(identity, owner.bearer, 'Org Viewer', `&orgId=${orgId}`);
    const [restricted, free] = [
      await inviteAndAccept(identity, owner.bearer, { roleId: orgAdmin, orgId }),
      await inviteAndAccept(identity, owner.bearer, { roleId: orgViewer, orgId }),
    ];
    await testApp.query(`update organization_membership set site_ids = array[gen_random_uuid()] where user_id = $1`, [
      restricted.userId,
    ]);
    const { bearer } = sessionOf(expectStatus(await login(restricted.email), 200));
    const responses = await Promise.all([
      identity.delete(`/users/${free.userId}`, { bearer }),
      identity.post(`/users/${free.userId}/role`, { roleId: orgViewer }, { bearer }),
    ]);
    expect(responses.map(codeOf)).toEqual(['site_access_denied', 'site_access_denied']);
    // From the partner, on the organization's scope.
    const foreign = await identity.delete(`/users/${free.userId}`, owner);
    expect(foreign.status).toBe(404);
    expect((await identity.delete(`/users/${free.userId}?orgId=${orgId}`, owner)).status).toBe(200);
  });

  it('are listed by status, role and search text, with the total', async () => {
    const lister = await registerPartner(identity);
    const [tech, view] = [
      await roleId(identity, lister.bearer, 'Partner Technician'),
      await roleId(identity, lister.bearer, 'Partner Viewer'),
    ];
    const invite = async (name: string, role: string) => {
      const email = freshEmail(name.toLowerCase());
      expectStatus(await identity.post('/users/invite', { email, name, roleId: role }, lister), 201);
      const token = await identity.mailedToken(email);
      expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
    };
    for (const [name, role] of [
      ['Nora', tech],
      ['Nils', tech],
      ['Olga', view],
    ] as const) {
      await invite(name, role);
    }
    const listed = async (query: string) => {
      const { body } = expectStatus(await identity.get(`/users?${query}`, lister), 200);
      return {
        names: (body.data as { name: string }[]).map(({ name }) => name),
        total: body.pagination.total as number,
      };
    };
    expect(await listed('')).toEqual({ names: ['Olga', 'Nils', 'Nora', 'Pat Morgan'], total: 4 });
    expect(await listed('status=active&limit=1')).toEqual({ names: ['Olga'], total: 4 });
    expect(await listed(`roleId=${tech}`)).toEqual({ names: ['Nils', 'Nora'], total: 2 });
    expect(await listed('search=NO')).toEqual({ names: ['Nora'], total: 1 });
    expect(await listed('search=%25')).toEqual({ names: [], total: 0 });
    expect(await listed('page=3&limit=2')).toEqual({ names: [], total: 4 });
    const wrong = await identity.get('/users?status=gone', lister);
    expect(wrong.status).toBe(400);
  });
});
