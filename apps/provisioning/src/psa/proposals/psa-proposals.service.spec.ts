import { randomUUID } from 'node:crypto';
import { FakePsa, type FakeCompany } from '@rmm/testing';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';
import { SyncPsaJob } from '../sync/sync-psa.job.js';

describe('/psa/connections/:id/proposals and /sync', () => {
  let testApp: ProvisioningTestApp;
  let fake: FakePsa;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start({
      IS_HOSTED: 'false',
      OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8',
    });
  });
  afterAll(() => testApp?.stop());
  afterEach(() => fake?.stop());

  async function connect(companies: FakeCompany[] | number = 3, provider: 'zendesk' | 'jira' = 'zendesk') {
    fake = await new FakePsa(provider, companies).start();
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const body = { ownerScope: 'partner', provider, name: 'PSA', credentials: fake.credentials };
    const { id } = (await client.post('/psa/connections', body).expect(201)).body as { id: string };
    return { id, partnerId, client, path: `/psa/connections/${id}` };
  }
  /** A connection whose sync has proposed its companies. */
  async function propose(companies: FakeCompany[] | number = 3) {
    const connection = await connect(companies);
    const { client, path } = connection;
    await client.put(`${path}/sync`, { enabled: true }).expect(200);
    await eventually(async () => {
      await testApp.app.get(SyncPsaJob, { strict: false }).run();
      const { lastResult } = (await client.get(`${path}/sync`).expect(200)).body;
      if (lastResult === null) throw new Error('not run');
    });
    const list = async (query = '') => (await client.get(`${path}/proposals?sort=name${query}`).expect(200)).body;
    const ids = ((await list()).data as { id: string }[]).map(({ id }) => id);
    return { ...connection, list, ids };
  }

  it('imports accepted companies as a run with the decisions of the items, and lists them no more', async () => {
    const { client, path, ids, list, id } = await propose(4);
    const organization = async (name: string) =>
      (await client.post('/orgs/organizations', { name }).expect(201)).body.id as string;
    const [two, three] = [await organization('Company 2'), await organization('Company 3')];
    const items = [
      { id: ids[3], expectedAnnotation: 'create' },
      { id: ids[1], expectedAnnotation: 'name-match', expectedOrganizationId: two },
      { id: ids[2] },
      { id: ids[0], expectedAnnotation: 'link-match' },
    ];
    const { body } = await client.post(`${path}/proposals/accept`, { items }).expect(200);
    expect(body.imported).toMatchObject([{ index: 0, organization: 'Company 4' }]);
    expect(body.skipped).toMatchObject([{ index: 1, organizationId: two, reason: 'name_match_confirmed' }]);
    expect(body.errors).toMatchObject([
      { index: 2, code: 'name-match-unconfirmed' },
      { index: 3, code: 'annotation-changed' },
    ]);
    expect(body.runId).toEqual(expect.any(String));
    const { data } = await list();
    expect(data).toMatchObject([
      { name: 'Company 1', annotation: 'create', organizationId: null },
      { name: 'Company 3', annotation: 'name-match', organizationId: three, organizationName: 'Company 3' },
    ]);
    const shown = await client.get(`/orgs/organizations/${body.imported[0].organizationId}`).expect(200);
    expect(shown.body.externalLinks).toEqual([{ system: 'zendesk', externalId: '4' }]);
    await testApp.waitForMessage('psa.connection.import', ({ aggregateId }) => aggregateId === id);
  });

  it('imports a company once when it is accepted several times at once', async () => {
    const { path, ids, partnerId } = await propose(2);
    const items = ids.map((id) => ({ id }));
    const users = await Promise.all([1, 2].map(() => testApp.clientFor({ partnerId })));
    const responses = await Promise.all(users.map((user) => user.post(`${path}/proposals/accept`, { items })));
    expect(responses.flatMap(({ body }) => body.imported ?? [])).toHaveLength(2);
    const sql = 'SELECT count(*)::int AS n FROM organization WHERE partner_id = $1';
    expect((await testApp.admin.query(sql, [partnerId])).rows[0].n).toBe(2);
  });

  it('replays the response of an idempotency key, and skips a company that is accepted again', async () => {
    const { client, path, ids } = await propose(1);
    const key = randomUUID();
    const accept = (idempotencyKey: string) =>
      client.post(`${path}/proposals/accept`, { items: [{ id: ids[0] }] }).set('Idempotency-Key', idempotencyKey);
    const first = await accept(key).expect(200);
    const again = await accept(key).expect(200);
    expect(again.body).toEqual(first.body);
    expect([first.body.imported.length, again.headers['idempotency-replayed']]).toEqual([1, 'true']);
    const { body } = await accept(randomUUID()).expect(200);
    expect([body.imported, body.skipped]).toEqual([[], [expect.objectContaining({ reason: 'already_linked' })]]);
  });

  it('dismisses proposals, which are listed apart', async () => {
    const { client, path, ids, list, id } = await propose(3);
    const { body } = await client.post(`${path}/proposals/dismiss`, { ids: [ids[0], randomUUID()] }).expect(200);
    expect(body).toEqual({ dismissed: 1 });
    expect((await list()).pagination.total).toBe(2);
    expect((await list('&status=dismissed')).data).toMatchObject([
      { name: 'Company 1', status: 'dismissed', company: null, annotation: null },
    ]);
    await client.post(`${path}/proposals/accept`, { items: [{ id: ids[0] }] }).expect(404);
    const entry = await testApp.waitForMessage('psa.proposal.dismiss', ({ aggregateId }) => aggregateId === id);
    expect(entry.data).toMatchObject({ details: { dismissed: 1 } });
  });

  it.each<[string, object, string]>([
    ['no items', { items: [] }, 'items'],
    ['an id that is none', { items: [{ id: 'x' }] }, 'items.0.id'],
    ['an unknown decision', { items: [{ id: randomUUID(), color: 'x' }] }, 'items.0.color'],
    ['an unknown mode', { items: [{ id: randomUUID() }], mode: 'x' }, 'mode'],
  ])('refuses to accept %s', async (_what, body, field) => {
    const { client, path } = await connect();
    const { details } = (await client.post(`${path}/proposals/accept`, body).expect(400)).body;
    expect(Object.keys(details.fieldErrors)).toEqual([field]);
  });

  it('refuses a proposal that is named twice', async () => {
    const { client, path, ids } = await propose(1);
    const items = [{ id: ids[0] }, { id: ids[0].toUpperCase() }];
    await client.post(`${path}/proposals/accept`, { items }).expect(400);
  });

  describe('the sync', () => {
    it('is disabled until it is enabled, and runs at once then', async () => {
      const { client, path, id } = await connect();
      const off = { enabled: false, rule: 'propose', intervalMinutes: 1_440, nextRunAt: null, lastResult: null };
      expect((await client.get(`${path}/sync`).expect(200)).body).toMatchObject({ ...off, running: false });
      expect((await client.post(`${path}/sync/run`).expect(409)).body.code).toBe('psa_sync_disabled');
      const settings = { enabled: true, rule: 'import', intervalMinutes: 60 };
      const { body } = await client.put(`${path}/sync`, settings).expect(200);
      expect(body).toMatchObject(settings);
      expect(Date.parse(body.nextRunAt)).toBeLessThanOrEqual(Date.now() + 1_000);
      await client.post(`${path}/sync/run`).expect(202);
      expect((await client.put(`${path}/sync`, { enabled: false }).expect(200)).body).toMatchObject({
        enabled: false,
        rule: 'import',
        intervalMinutes: 60,
        nextRunAt: null,
      });
      const entry = await testApp.waitForMessage('psa.sync.update', ({ aggregateId }) => aggregateId === id);
      expect(entry.data).toMatchObject({ details: settings });
    });

    it.each<[string, object, string]>([
      ['no switch', {}, 'enabled'],
      ['an unknown rule', { enabled: true, rule: 'delete' }, 'rule'],
      ['an interval below an hour', { enabled: true, intervalMinutes: 59 }, 'intervalMinutes'],
      ['an interval above a week', { enabled: true, intervalMinutes: 10_081 }, 'intervalMinutes'],
    ])('refuses %s', async (_what, body, field) => {
      const { client, path } = await connect();
      const { details } = (await client.put(`${path}/sync`, body).expect(400)).body;
      expect(Object.keys(details.fieldErrors)).toEqual([field]);
    });

    it('does not exist for a provider without companies', async () => {
      const { client, path } = await connect(0, 'jira');
      const { body } = await client.put(`${path}/sync`, { enabled: true }).expect(400);
      expect(body.code).toBe('psa_listing_unsupported');
    });
  });

  it('needs permission, a second factor and access to the whole partner, and hides other partners', async () => {
    const { path, partnerId, ids, client } = await propose(1);
    const orgId = (await client.post('/orgs/organizations', { name: 'Ours' }).expect(201)).body.id as string;
    const theirs = await testApp.createPartner();
    const codesOf = async (user: FakeUser) => {
      const as = await testApp.clientFor({ partnerId, ...user });
      const responses = [
        await as.get(`${path}/sync`),
        await as.get(`${path}/proposals`),
        await as.put(`${path}/sync`, { enabled: true }),
        await as.post(`${path}/sync/run`),
        await as.post(`${path}/proposals/accept`, { items: [{ id: ids[0] }] }),
        await as.post(`${path}/proposals/dismiss`, { ids }),
      ];
      return responses.map(({ status, body }) => (body.code as string | undefined) ?? status);
    };
    const refused = (code: string) => Array<string>(4).fill(code);
    expect(await codesOf({ partnerId: theirs })).toEqual(Array(6).fill('not_found'));
    expect(await codesOf({ mfa: false })).toEqual([200, 200, ...refused('mfa_required')]);
    const reader = { permissions: ['organizations:read'] } as FakeUser;
    expect(await codesOf(reader)).toEqual([200, 200, ...refused('permission_denied')]);
    const selected = { orgAccess: 'selected', orgIds: [orgId] } as FakeUser;
    expect(await codesOf(selected)).toEqual(Array(6).fill('full_partner_access_required'));
    expect(await codesOf({ scope: 'organization', orgId })).toEqual(Array(6).fill('scope_not_allowed'));
  });
});
