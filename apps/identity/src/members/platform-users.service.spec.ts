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

const UNKNOWN = '7d9f2c1e-0000-4000-8000-000000000000';
const codeOf = ({ status, body }: TestResponse) => (status < 300 ? status : (body.code as string));

describe('users that platform administrators change', () => {
  let testApp: IdentityTestApp;
  let replicas: IdentityReplica[];
  let identity: IdentityReplica;
  let owner: TestUser;
  let viewer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    replicas = [identity, await testApp.startReplica()];
    owner = await registerPartner(identity);
    viewer = await roleId(identity, owner.bearer, 'Partner Viewer');
  }, 120_000);
  afterAll(() => testApp.stop());

  const member = (role = viewer) => inviteAndAccept(identity, owner.bearer, { roleId: role, orgAccess: 'all' });
  const partnerMember = async () => ({ user: await member(), query: `partnerId=${owner.partnerId}` });
  const organizationMember = async () => {
    const [{ orgId } = { orgId: '' }] = await testApp.query<{ orgId: string }>(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values (gen_random_uuid(), $1, 'Customer', 'c-' || gen_random_uuid(), 'active', 1) returning org_id as "orgId"`,
      [owner.partnerId],
    );
    const role = await roleId(identity, owner.bearer, 'Org Viewer', `&orgId=${orgId}`);
    return { user: await inviteAndAccept(identity, owner.bearer, { roleId: role, orgId }), query: `orgId=${orgId}` };
  };
  const login = (email: string) => identity.post('/auth/login', { email, password: PASSWORD });

  it('are changed by platform administrators only, which is checked before any lookup', async () => {
    const kept = await member();
    for (const id of [kept.userId, UNKNOWN]) {
      const refused = await identity.patch(`/users/${id}`, { name: 'Mine' }, owner);
      expect([refused.status, refused.body.code]).toEqual([403, 'scope_not_allowed']);
    }
    const bearer = await signInAdmin(identity);
    const renamed = await identity.patch(`/users/${kept.userId}`, { name: 'Renamed' }, { bearer });
    expect(expectStatus(renamed, 200).body).toMatchObject({ id: kept.userId, name: 'Renamed', status: 'active' });
    const responses = await Promise.all([
      identity.patch(`/users/${UNKNOWN}`, { name: 'X' }, { bearer }),
      identity.patch(`/users/${kept.userId}`, {}, { bearer }),
      identity.patch(`/users/${kept.userId}`, { status: 'gone' }, { bearer }),
      identity.patch(`/users/${kept.userId}`, { email: 'x@y.test' }, { bearer }),
    ]);
    const malformed = ['validation_failed', 'validation_failed', 'validation_failed'];
    expect(responses.map(codeOf)).toEqual(['not_found', ...malformed]);
    expect((await identity.get('/users/me', kept)).status).toBe(200);
  });

  it.each(['partner', 'organization'])('are changed for the entity tag of a membership only: %s', async (kind) => {
    const { user, query } = kind === 'partner' ? await partnerMember() : await organizationMember();
    const bearer = await signInAdmin(identity);
    const read = () => identity.get(`/users/${user.userId}?${query}`, { bearer });
    const tag = expectStatus(await read(), 200).headers['etag'] ?? '';
    const rename = (name: string) =>
      identity.patch(`/users/${user.userId}`, { name }, { bearer, headers: { 'if-match': tag } });
    const responses = await Promise.all(['A', 'B', 'C', 'D', 'E'].map(rename));
    expect(responses.map(codeOf).sort()).toEqual([200, ...Array<string>(4).fill('precondition_failed')]);
    const changed = responses.find(({ status }) => status === 200);
    expect((await read()).body.name).toBe(changed?.body.name);
  });

  it('are changed for the entity tag of the last change, which no login changes', async () => {
    const user = await member();
    const bearer = await signInAdmin(identity);
    const rename = (name: string, tag: string, by = bearer) =>
      identity.patch(`/users/${user.userId}`, { name }, { bearer: by, headers: { 'if-match': tag } });
    const { etag: first = '' } = expectStatus(await rename('A', '*'), 200).headers;
    expectStatus(await login(user.email), 200);
    const { etag: second = '' } = expectStatus(await rename('B', `"x.y", ${first}`), 200).headers;
    expect(codeOf(await rename('C', first))).toBe('precondition_failed');
    expect(codeOf(await rename('C', `W/${second}`))).toBe('precondition_failed');
    expect(codeOf(await rename('C', 'x'))).toBe('invalid_if_match');
    expect(codeOf(await rename('C', first, owner.bearer))).toBe('scope_not_allowed');
    expect(codeOf(await rename('B', second))).toBe(200);
  });

  it('lose every session when they are disabled, and can log in once enabled again', async () => {
    const user = await member();
    const bearer = await signInAdmin(identity);
    const disable = { status: 'disabled', disabledReason: 'Left' };
    const response = await identity.patch(`/users/${user.userId}`, disable, { bearer });
    expect(expectStatus(response, 200).body).toMatchObject(disable);
    for (const replica of replicas) {
      await eventually(async () => {
        expect((await replica.get('/users/me', user)).status).toBe(401);
      });
    }
    expect((await login(user.email)).body.code).toBe('login_failed');
    const enabled = await identity.patch(`/users/${user.userId}`, { status: 'active' }, { bearer });
    expect(enabled.body).toMatchObject({ status: 'active', disabledReason: null });
    expect((await identity.get('/users/me', user)).status).toBe(401);
    expect((await login(user.email)).status).toBe(200);
  });

  it('that are platform administrators cannot disable each other at the same time', async () => {
    const bearer = await signInAdmin(identity);
    const { id } = (await identity.get('/users/me', { bearer })).body;
    const other = await member();
    await testApp.query('update user_account set is_platform_admin = true where id = $1', [other.userId]);
    const { bearer: second } = sessionOf(expectStatus(await login(other.email), 200));
    const [one, two] = replicas;
    const responses = await Promise.all([
      one?.patch(`/users/${other.userId}`, { status: 'disabled' }, { bearer }),
      two?.patch(`/users/${id}`, { status: 'disabled' }, { bearer: second }),
    ]);
    expect(responses.filter((response) => response?.status === 200)).toHaveLength(1);
    await testApp.query(`update user_account set status = 'active', is_platform_admin = (id = $1) where id = any($2)`, [
      id,
      [id, other.userId],
    ]);
  });

  it('are not set active before they chose a password: no way in would be left', async () => {
    const email = freshEmail();
    const invite = { email, name: 'Robin Vale', roleId: viewer };
    const { id } = expectStatus(await identity.post('/users/invite', invite, owner), 201).body;
    const bearer = await signInAdmin(identity);
    const refused = await identity.patch(`/users/${id}`, { status: 'active' }, { bearer });
    expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(Object.keys(refused.body.details.fieldErrors)).toEqual(['status']);
    const token = await identity.mailedToken(email);
    expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
  });

  it('cannot disable themselves', async () => {
    const bearer = await signInAdmin(identity);
    const { id } = (await identity.get('/users/me', { bearer })).body;
    const refused = await identity.patch(`/users/${id}`, { status: 'disabled' }, { bearer });
    expect([refused.status, refused.body.code]).toEqual([403, 'self_action_refused']);
  });
});
