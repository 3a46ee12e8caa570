import { randomUUID } from 'node:crypto';
import { FakePsa } from '@rmm/testing';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { MAX_CONNECTIONS } from './psa-connections.service.js';
import { PSA_PROVIDERS } from './psa-providers.constants.js';

const PATH = '/psa/connections';
const ZENDESK = { baseUrl: 'https://acme.zendesk.com', email: 'sync@acme.example', apiToken: 'very-secret-token' };
const NEW = { ownerScope: 'partner', provider: 'zendesk', name: 'Tickets', credentials: ZENDESK };

describe('/psa/connections', () => {
  let testApp: ProvisioningTestApp;
  let fake: FakePsa;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start({ IS_HOSTED: 'false', OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8' });
  });
  afterAll(() => testApp?.stop());
  afterEach(() => fake?.stop());

  const freshPartner = async (user: FakeUser = {}) => {
    const partnerId = await testApp.createPartner();
    return { partnerId, client: await testApp.clientFor({ partnerId, ...user }) };
  };
  type Client = Awaited<ReturnType<typeof freshPartner>>['client'];
  const createOrganization = async (client: Client): Promise<string> =>
    (await client.post('/orgs/organizations', { name: `Org ${randomUUID()}` }).expect(201)).body.id;
  const create = async (client: Client, changes: object = {}) =>
    (await client.post(PATH, { ...NEW, ...changes }).expect(201)).body;

  it('creates, lists, shows, changes and deletes a connection', async () => {
    const { client } = await freshPartner();
    const created = await create(client, { settings: { note: 'a' } });
    expect(created).toEqual({
      id: expect.any(String),
      orgId: null,
      ownerScope: 'partner',
      provider: 'zendesk',
      name: 'Tickets',
      status: 'active',
      settings: { note: 'a' },
      hasCredentials: true,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      lastTestedAt: null,
      lastSyncedAt: null,
    });
    const one = `${PATH}/${created.id}`;
    expect((await client.get(PATH).expect(200)).body).toMatchObject({ data: [created], pagination: { total: 1 } });
    const { apiToken: _secret, ...shown } = ZENDESK;
    const details = { credentials: shown, secretCredentials: { apiToken: true } };
    expect((await client.get(one).expect(200)).body).toEqual({ data: { ...created, ...details } });
    const patch = { name: 'Desk', status: 'paused', settings: { note: null, table: 'x' } };
    const changed = (await client.patch(one, patch).expect(200)).body;
    expect(changed).toMatchObject({ name: 'Desk', status: 'paused', settings: { table: 'x' }, hasCredentials: true });
    expect((await client.delete(one).expect(200)).body).toEqual({ success: true });
    await client.get(one).expect(404);
    for (const action of ['create', 'update', 'status.update', 'delete']) {
      await testApp.waitForMessage(`psa.connection.${action}`, ({ data }) => JSON.stringify(data).includes(created.id));
    }
  });

  it('never shows or stores a secret as text', async () => {
    const { client } = await freshPartner();
    const { id } = await create(client);
    const bodies = [
      (await client.get(PATH)).text,
      (await client.get(`${PATH}/${id}`)).text,
      (await client.patch(`${PATH}/${id}`, { credentials: { apiToken: 'very-secret-token-2' } })).text,
    ];
    const { rows } = await testApp.admin.query('SELECT * FROM psa_connection WHERE id = $1', [id]);
    const sent = JSON.stringify(testApp.received);
    for (const text of [...bodies, JSON.stringify(rows), sent]) expect(text).not.toContain('very-secret');
    expect(rows[0].secrets_sealed).toMatch(/^v1\./);
  });

  it('opens sealed secrets only in the row they were sealed for', async () => {
    fake = await new FakePsa('zendesk').start();
    const { client } = await freshPartner();
    const one = await create(client, { credentials: fake.credentials });
    const other = await create(client, { credentials: { ...fake.credentials, apiToken: 'wrong' } });
    await testApp.admin.query(
      'UPDATE psa_connection SET secrets_sealed = (SELECT secrets_sealed FROM psa_connection WHERE id = $1) WHERE id = $2',
      [one.id, other.id],
    );
    const { body } = await client.post(`${PATH}/${other.id}/test`).expect(200);
    expect(body).toEqual({ success: false, error: 'The connection lacks apiToken' });
    const { apiToken } = fake.credentials;
    await client.patch(`${PATH}/${other.id}`, { credentials: { apiToken } }).expect(200);
    expect((await client.post(`${PATH}/${other.id}/test`).expect(200)).body.success).toBe(true);
  });

  it('merges credentials, and deletes one with null', async () => {
    const { client } = await freshPartner();
    const { id } = await create(client, { credentials: { baseUrl: `${ZENDESK.baseUrl}/` } });
    const shown = async () => (await client.get(`${PATH}/${id}`)).body.data;
    expect(await shown()).toMatchObject({ hasCredentials: false, secretCredentials: { apiToken: false } });
    await client.patch(`${PATH}/${id}`, { credentials: { email: 'a@b.example', apiToken: 'x' } }).expect(200);
    expect(await shown()).toMatchObject({
      hasCredentials: true,
      credentials: { baseUrl: ZENDESK.baseUrl, email: 'a@b.example' },
      secretCredentials: { apiToken: true },
    });
    await client.patch(`${PATH}/${id}`, { credentials: { apiToken: null } }).expect(200);
    expect(await shown()).toMatchObject({ hasCredentials: false, secretCredentials: { apiToken: false } });
  });

  it('asks for the secrets again when the base URL gets another origin, which would receive them', async () => {
    const { client } = await freshPartner();
    const { id } = await create(client);
    const moved = { baseUrl: 'https://attacker.example' };
    const refused = await client.patch(`${PATH}/${id}`, { credentials: moved }).expect(400);
    expect(Object.keys(refused.body.details.fieldErrors)).toEqual(['credentials.apiToken']);
    await client.patch(`${PATH}/${id}`, { credentials: { baseUrl: `${ZENDESK.baseUrl}/other` } }).expect(200);
    await client.patch(`${PATH}/${id}`, { credentials: { ...moved, apiToken: 'new' } }).expect(200);
  });

  it.each<[string, object, string]>([
    ['an unknown provider', { provider: 'other' }, 'provider'],
    ['an unknown credential', { credentials: { ...ZENDESK, color: 'x' } }, 'credentials.color'],
    ['a credential that is no text', { credentials: { ...ZENDESK, apiToken: 7 } }, 'credentials.apiToken'],
    ['a line break in a credential', { credentials: { ...ZENDESK, apiToken: 'a\r\nb: c' } }, 'credentials.apiToken'],
    ['no URL', { credentials: { baseUrl: 'acme' } }, 'credentials.baseUrl'],
    ['http to a public host', { credentials: { baseUrl: 'http://8.8.8.8' } }, 'credentials.baseUrl'],
    ['a metadata address', { credentials: { baseUrl: 'http://169.254.169.254' } }, 'credentials.baseUrl'],
    ['localhost', { credentials: { baseUrl: 'https://localhost' } }, 'credentials.baseUrl'],
    ['user info', { credentials: { baseUrl: 'https://a:b@acme.example' } }, 'credentials.baseUrl'],
    ['a query', { credentials: { baseUrl: 'https://acme.example/?a=b' } }, 'credentials.baseUrl'],
    ['too large credentials', { credentials: { ...ZENDESK, apiToken: 'x'.repeat(70_000) } }, 'credentials'],
    ['no owner', { ownerScope: undefined }, 'ownerScope'],
    ['an organization of a partner connection', { orgId: randomUUID() }, 'orgId'],
    [
      'a table that is a path',
      { provider: 'servicenow', credentials: {}, settings: { companyTable: '../x' } },
      'settings.companyTable',
    ],
  ])('refuses %s', async (_what, changes, field) => {
    const { client } = await freshPartner();
    const { body } = await client.post(PATH, { ...NEW, ...changes }).expect(400);
    expect(Object.keys(body.details.fieldErrors)).toContain(field);
  });

  it('belongs to one partner, and needs permission, a second factor and full access', async () => {
    const { client, partnerId } = await freshPartner();
    const { id } = await create(client);
    const calls = (as: Client) => [
      as.get(`${PATH}/${id}`),
      as.patch(`${PATH}/${id}`, { name: 'x' }),
      as.delete(`${PATH}/${id}`),
      as.post(`${PATH}/${id}/test`),
    ];
    const theirs = (await freshPartner()).client;
    for (const response of await Promise.all(calls(theirs))) expect(response.status).toBe(404);
    expect((await theirs.get(PATH)).body.data).toEqual([]);
    await theirs.get(`${PATH}/not-an-id`).expect(404);

    const codes = async (user: FakeUser) => {
      const as = await testApp.clientFor({ partnerId, ...user });
      const created = await as.post(PATH, NEW);
      const responses = [created, ...(await Promise.all(calls(as)))];
      return responses.map(({ status, body }) => body.code ?? status);
    };
    const reader = { permissions: ['organizations:read'] } as FakeUser;
    expect(await codes(reader)).toEqual(['permission_denied', 200, ...Array(3).fill('permission_denied')]);
    expect(await codes({ mfa: false })).toEqual(['mfa_required', 200, ...Array(3).fill('mfa_required')]);
    const refused = 'full_partner_access_required';
    expect(await codes({ orgAccess: 'selected', orgIds: [] })).toEqual([refused, 200, refused, refused, refused]);
    const orgId = await createOrganization(client);
    expect(await codes({ scope: 'organization', orgId })).toEqual([
      'scope_not_allowed',
      200,
      'scope_not_allowed',
      'scope_not_allowed',
      'scope_not_allowed',
    ]);
    const asReader = (await (await testApp.clientFor({ partnerId, ...reader })).get(`${PATH}/${id}`)).body.data;
    expect(asReader).not.toHaveProperty('credentials');
    expect((await testApp.client().get(PATH)).status).toBe(401);
  });

  it('may belong to one organization, whose callers manage it', async () => {
    const { client, partnerId } = await freshPartner();
    const [orgId, otherId] = [await createOrganization(client), await createOrganization(client)];
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId });
    const own = await create(member, { ownerScope: 'organization' });
    expect(own).toMatchObject({ orgId, ownerScope: 'organization' });
    const other = await create(client, { ownerScope: 'organization', orgId: otherId });
    await member.get(`${PATH}/${other.id}`).expect(404);
    await member.patch(`${PATH}/${own.id}`, { name: 'Ours' }).expect(200);
    const stolen = await member.post(PATH, { ...NEW, ownerScope: 'organization', orgId: otherId });
    expect([stolen.status, stolen.body.code]).toEqual([403, 'organization_access_denied']);
    const ids = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id);
    expect(ids((await client.get(`${PATH}?orgId=${orgId}`)).body)).toEqual([own.id]);
    expect(ids((await client.get(`${PATH}?provider=jira`)).body)).toEqual([]);
    const foreign = await member.get(`${PATH}?orgId=${otherId}`);
    expect(foreign.body.code).toBe('organization_access_denied');
    await client.delete(`/orgs/organizations/${orgId}`).expect(200);
    await client.get(`${PATH}/${own.id}`).expect(404);
  });

  it('has a limit for each owner, also for concurrent requests', async () => {
    const { client, partnerId } = await freshPartner();
    await testApp.admin.query(
      `INSERT INTO psa_connection (id, partner_id, provider, name, name_key)
       SELECT gen_random_uuid(), $1, 'jira', 'n', 'n' FROM generate_series(1, $2::integer)`,
      [partnerId, MAX_CONNECTIONS - 2],
    );
    const responses = await Promise.all(Array.from({ length: 6 }, () => client.post(PATH, NEW)));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409, 409]);
    expect(responses.find(({ status }) => status === 409)?.body.code).toBe('psa_connection_limit_reached');
  });

  describe('test', () => {
    it.each(PSA_PROVIDERS)('accepts right credentials of %s and refuses wrong ones', async (provider) => {
      fake = await new FakePsa(provider).start();
      const { client } = await freshPartner();
      const { id } = await create(client, { provider, credentials: fake.credentials });
      const test = async () => (await client.post(`${PATH}/${id}/test`).expect(200)).body;
      expect(await test()).toEqual({ success: true, message: 'The PSA accepted the credentials' });
      const statusOf = async () => (await client.get(`${PATH}/${id}`)).body.data;
      expect(await statusOf()).toMatchObject({ status: 'active', lastTestedAt: expect.any(String) });
      const secret = Object.keys((await statusOf()).secretCredentials)[0];
      const original = fake.credentials[secret];
      await client.patch(`${PATH}/${id}`, { credentials: { [secret]: 'wrong' } }).expect(200);
      expect(await test()).toEqual({
        success: false,
        error: expect.stringMatching(/refused the credentials|no token/),
      });
      expect((await statusOf()).status).toBe('error');
      await client.patch(`${PATH}/${id}`, { credentials: { [secret]: original } }).expect(200);
      expect((await test()).success).toBe(true);
      expect((await statusOf()).status).toBe('active');
    });

    it('says what failed without the address, and leaves the status', async () => {
      fake = await new FakePsa('zendesk').start();
      const { client } = await freshPartner();
      const { id } = await create(client, { credentials: fake.credentials });
      const test = async () => (await client.post(`${PATH}/${id}/test`).expect(200)).body;
      fake.fault = () => ({ status: 302, headers: { location: 'http://127.0.0.1/' } });
      expect(await test()).toEqual({ success: false, error: 'The PSA redirected the request' });
      await fake.stop();
      const { error } = await test();
      expect(error).toBe('The PSA cannot be reached: Connection refused');
      expect((await client.get(`${PATH}/${id}`)).body.data.status).toBe('active');
      await testApp.waitForMessage('psa.connection.test', ({ data }) => JSON.stringify(data).includes('"failure"'));
    });
  });
});
