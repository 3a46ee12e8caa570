import { companiesOf, FakePsa, type FakeVendorName } from '@rmm/testing';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { PSA_LIMITS } from './psa.limits.js';

const LISTING: FakeVendorName[] = [
  'connectwise',
  'autotask',
  'servicenow',
  'freshservice',
  'zendesk',
  'halopsa',
  'syncro',
];

interface PreviewedRow {
  organization: string;
  externalId: string;
  annotation: string;
  organizationId: string | null;
  [field: string]: unknown;
}

describe('/psa/connections/:id/import', () => {
  let testApp: ProvisioningTestApp;
  let fake: FakePsa;
  const original = { ...PSA_LIMITS };

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start({
      IS_HOSTED: 'false',
      OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8',
    });
  });
  afterAll(() => testApp?.stop());
  afterEach(async () => {
    Object.assign(PSA_LIMITS, original);
    await fake?.stop();
  });

  /** A partner with a connection to a fake, and a client of its administrator. */
  async function connect(name: FakeVendorName, companies: ConstructorParameters<typeof FakePsa>[1] = 3, caps = {}) {
    fake = await new FakePsa(name, companies).start();
    const partnerId = await testApp.createPartner(caps);
    const client = await testApp.clientFor({ partnerId });
    const connection = await addConnection(client);
    return { partnerId, client, ...connection };
  }
  type Client = Awaited<ReturnType<typeof testApp.clientFor>>;
  async function addConnection(client: Client, psa = fake) {
    const body = { ownerScope: 'partner', provider: psa.name, name: 'PSA', credentials: psa.credentials };
    const { id } = (await client.post('/psa/connections', body).expect(201)).body as { id: string };
    const path = `/psa/connections/${id}/import`;
    return {
      id,
      preview: async (as = client) => (await as.post(`${path}/preview`).expect(200)).body,
      commit: async (rows: object[], more: object = {}) =>
        (await client.post(path, { rows, ...more }).expect(200)).body,
    };
  }
  const countOf = async (table: string, partnerId: string): Promise<number> => {
    const { rows } = await testApp.admin.query(`SELECT count(*)::int AS n FROM ${table} WHERE partner_id = $1`, [
      partnerId,
    ]);
    return rows[0].n;
  };
  const colleague = (partnerId: string, user: FakeUser = {}) => testApp.clientFor({ partnerId, ...user });

  it.each(LISTING)('previews and imports the companies of %s, and shows none of them again', async (name) => {
    const { client, partnerId, preview, commit, id } = await connect(name, 150);
    const previewed = await preview();
    expect(previewed).toMatchObject({
      truncated: false,
      truncationReason: null,
      fetched: 150,
      alreadyLinked: 0,
      malformed: 0,
      cap: 1_000,
      warnings: [],
    });
    expect(previewed.rows[1]).toMatchObject({
      index: 1,
      organization: 'Company 2',
      externalId: '2',
      externalSystem: name,
      annotation: 'create',
      slug: 'company-2',
      organizationId: null,
    });
    expect(await countOf('organization', partnerId)).toBe(0);

    const requests = fake.requests.length;
    const committed = await commit(previewed.rows);
    expect(committed).toMatchObject({ updated: [], skipped: [], errors: [] });
    expect(committed.imported).toHaveLength(150);
    expect(fake.requests).toHaveLength(requests);
    const [first] = committed.imported;
    const shown = await client.get(`/orgs/organizations/${first.organizationId}`).expect(200);
    expect(shown.body.externalLinks).toEqual([{ system: name, externalId: '1' }]);
    expect(await preview()).toMatchObject({ rows: [], fetched: 150, alreadyLinked: 150 });
    const { lastSyncedAt } = (await client.get(`/psa/connections/${id}`)).body.data;
    expect(Date.parse(lastSyncedAt)).toBeGreaterThan(Date.now() - 60_000);
    const entry = await testApp.waitForMessage('psa.connection.import', ({ aggregateId }) => aggregateId === id);
    expect(entry.data).toMatchObject({ details: { mode: 'skip', imported: 150, updated: 0, skipped: 0, errors: 0 } });
    await testApp.waitForMessage(
      'organization.create',
      ({ data, orgId }) => orgId === first.organizationId && JSON.stringify(data).includes(id),
    );
  });

  it('gets through 2,500 companies, preview and import in turn', async () => {
    const { partnerId, preview, commit } = await connect('zendesk', 2_500);
    const counts: [number, string | null][] = [];
    for (let n = 0; n < 3; n += 1) {
      const { rows, truncationReason } = await preview();
      counts.push([rows.length, truncationReason]);
      expect((await commit(rows)).imported).toHaveLength(rows.length);
    }
    expect(counts).toEqual([
      [1_000, 'cap'],
      [1_000, 'cap'],
      [500, null],
    ]);
    expect(await countOf('external_link', partnerId)).toBe(2_500);
  });

  it('annotates each company by what is stored', async () => {
    const { client, preview, commit } = await connect('connectwise', companiesOf(6));
    const organization = async (name: string) =>
      (await client.post('/orgs/organizations', { name }).expect(201)).body.id as string;
    const [named, deleted] = [await organization('company  2'), await organization('Company 3')];
    await client.delete(`/orgs/organizations/${deleted}`).expect(200);
    await organization('Company 4');
    await client.post('/orgs/organizations', { name: 'Company 4', slug: 'second' }).expect(201);
    const csv = { organization: 'Company 5', externalId: '5', externalSystem: 'connectwise' };
    const [other] = (await client.post('/orgs/import', { rows: [csv] }).expect(200)).body.imported;

    const { rows } = (await preview()) as { rows: PreviewedRow[] };
    const effects = rows.map(({ annotation, organizationId, matchedBy }) => [annotation, organizationId, matchedBy]);
    expect(effects).toEqual([
      ['create', null, undefined],
      ['name-match', named, 'name'],
      ['matched-soft-deleted', deleted, 'name'],
      ['conflict', null, undefined],
      // a link of a file import is another system than this connection, whatever its name is
      ['name-match', other.organizationId, 'name'],
      ['create', null, undefined],
    ]);

    const plain = await commit(rows);
    expect(plain.imported.map(({ index }: { index: number }) => index)).toEqual([0, 5]);
    expect(plain.errors.map(({ index, code }: { index: number; code: string }) => [index, code])).toEqual([
      [1, 'name-match-unconfirmed'],
      [2, 'soft-deleted-unconfirmed'],
      [3, 'row-conflict'],
      [4, 'name-match-unconfirmed'],
    ]);
    const confirmed = await commit([
      { ...rows[1], expectedAnnotation: 'name-match', expectedOrganizationId: named },
      { ...rows[2], reactivate: true },
      { ...rows[4], forceCreate: true },
      { ...rows[0], expectedAnnotation: 'create' },
    ]);
    expect(confirmed.skipped).toMatchObject([
      { organizationId: named, reason: 'name_match_confirmed', createdLink: true },
    ]);
    expect(confirmed.updated).toMatchObject([{ organizationId: deleted, reactivated: true }]);
    expect(confirmed.imported).toMatchObject([{ index: 2, slug: 'company-5-2' }]);
    expect(confirmed.errors).toMatchObject([{ index: 3, code: 'annotation-changed' }]);
    expect((await preview()).rows.map(({ externalId }: PreviewedRow) => externalId)).toEqual(['4']);
  });

  it('keeps two connections of one provider apart', async () => {
    const { client, preview, commit } = await connect('zendesk', companiesOf(2));
    const second = await new FakePsa('zendesk', [
      { id: 1, name: 'Another customer' },
      { id: 9, name: 'Company 2' },
    ]).start();
    try {
      const other = await addConnection(client, second);
      await commit((await preview()).rows);
      const { rows } = await other.preview();
      expect(rows.map(({ annotation }: PreviewedRow) => annotation)).toEqual(['create', 'name-match']);
      const result = await other.commit([rows[0], { ...rows[1], expectedAnnotation: 'name-match' }]);
      expect([result.imported.length, result.skipped[0].createdLink, result.errors]).toEqual([1, true, []]);
      expect(await other.preview()).toMatchObject({ rows: [], alreadyLinked: 2 });
      // Without the connection its links say nothing: a new one may link the same companies.
      await client.delete(`/psa/connections/${other.id}`).expect(200);
      const again = await addConnection(client, second);
      expect((await again.preview()).rows.map(({ annotation }: PreviewedRow) => annotation)).toEqual([
        'name-match',
        'name-match',
      ]);
    } finally {
      await second.stop();
    }
  });

  it('writes the system of the provider, whatever a row says', async () => {
    const { client, commit } = await connect('syncro', 0);
    const { imported } = await commit([{ organization: 'A', externalId: '7', externalSystem: 'connectwise' }]);
    const { body } = await client.get(`/orgs/organizations/${imported[0].organizationId}`);
    expect(body.externalLinks).toEqual([{ system: 'syncro', externalId: '7' }]);
  });

  it('creates each organization once when a preview is committed several times at once', async () => {
    const { partnerId, preview, id } = await connect('halopsa', 60);
    const { rows } = await preview();
    const users = await Promise.all([1, 2, 3].map(() => colleague(partnerId)));
    const sent = await Promise.all(users.map((user) => user.post(`/psa/connections/${id}/import`, { rows })));
    const done = sent.filter(({ status }) => status === 200);
    expect(sent.filter(({ status }) => status !== 200).map(({ status }) => status)).toEqual(
      Array(3 - done.length).fill(429),
    );
    expect(done.flatMap(({ body }) => body.imported)).toHaveLength(60);
    expect(await countOf('organization', partnerId)).toBe(60);
    expect(await countOf('external_link', partnerId)).toBe(60);
  });

  it('replays the response of an idempotency key, and refuses another body', async () => {
    const { client, preview, id, partnerId } = await connect('zendesk', 3);
    const { rows } = await preview();
    const send = (body: object) => client.post(`/psa/connections/${id}/import`, body).set('Idempotency-Key', 'k-1');
    const first = await send({ rows });
    const again = await send({ rows });
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([200, first.body, 'true']);
    expect((await send({ rows: [] })).body.code).toBe('idempotency_key_reused');
    expect(await countOf('organization', partnerId)).toBe(3);
    const entries = testApp.received.filter(
      ({ type, aggregateId }) => type === 'psa.connection.import' && aggregateId === id,
    );
    expect(entries.length).toBeLessThanOrEqual(1);
  });

  it('stops at the cap of the partner', async () => {
    const { preview, commit } = await connect('zendesk', 5, { maxOrganizations: 2 });
    const { imported, errors } = await commit((await preview()).rows);
    expect(imported).toHaveLength(2);
    expect(errors.map(({ code }: { code: string }) => code)).toEqual(Array(3).fill('organization-limit-reached'));
  });

  it('imports long, blank, repeated and unusual names without failing the others', async () => {
    const { preview, commit } = await connect('connectwise', [
      { id: 1, name: 'x'.repeat(300) },
      { id: 2, name: '' },
      { id: 3, name: 'Same' },
      { id: 4, name: 'Same' },
      { id: 5, name: 'Tab\tand\u0000NUL and \ud800 half' },
      { id: 6, name: '𝒰nicode 😀' },
      { id: 7, name: 'Bad zone', fields: { timeZoneSetup: { name: 'Mars' }, phoneNumber: '1'.repeat(90) } },
    ]);
    const previewed = await preview();
    expect(previewed).toMatchObject({ fetched: 7, malformed: 1 });
    expect(previewed.warnings).toEqual([{ code: 'unknown-time-zone', index: 5, timezone: 'Mars' }]);
    const { imported, errors } = await commit(previewed.rows);
    expect(errors).toEqual([]);
    expect(imported.map(({ slug }: { slug: string }) => slug)).toEqual(
      expect.arrayContaining(['same', 'same-2', 'bad-zone']),
    );
  });

  describe('refusals', () => {
    it('has no listing of jira', async () => {
      const { client, id } = await connect('jira');
      for (const [path, body] of [
        ['preview', {}],
        ['', { rows: [] }],
      ] as const) {
        const response = await client.post(`/psa/connections/${id}/import${path && `/${path}`}`, body);
        expect([response.status, response.body.code]).toEqual([400, 'psa_listing_unsupported']);
      }
      expect(fake.requests).toEqual([]);
    });

    it('sends nothing for a paused connection or one without credentials', async () => {
      const { client, id } = await connect('zendesk');
      const codeOf = async () => (await client.post(`/psa/connections/${id}/import/preview`)).body.code;
      await client.patch(`/psa/connections/${id}`, { status: 'paused' }).expect(200);
      expect(await codeOf()).toBe('psa_connection_paused');
      await client.patch(`/psa/connections/${id}`, { status: 'active', credentials: { apiToken: null } }).expect(200);
      expect(await codeOf()).toBe('psa_credentials_incomplete');
      expect(fake.requests).toEqual([]);
    });

    it('responds 502 when the PSA fails, and keeps the status of the connection', async () => {
      Object.assign(PSA_LIMITS, { firstWaitMs: 5 });
      const { client, id } = await connect('zendesk', 300);
      const codeOf = async () => {
        const { status, body } = await client.post(`/psa/connections/${id}/import/preview`);
        return [status, body.code];
      };
      const statusOf = async () => (await client.get(`/psa/connections/${id}`)).body.data.status;
      fake.fault = () => ({ status: 500 });
      expect(await codeOf()).toEqual([502, 'upstream_failed']);
      fake.fault = () => ({ status: 301, headers: { location: 'https://evil.example' } });
      expect(await codeOf()).toEqual([502, 'psa_request_refused']);
      fake.fault = () => undefined;
      fake.defects = { nextLink: () => 'http://169.254.169.254/' };
      expect(await codeOf()).toEqual([502, 'psa_request_refused']);
      expect(await statusOf()).toBe('active');
      fake.fault = () => ({ status: 403 });
      expect(await codeOf()).toEqual([502, 'upstream_failed']);
      expect(await statusOf()).toBe('error');
      fake.fault = () => undefined;
      fake.defects = {};
      expect(await codeOf()).toEqual([200, undefined]);
      expect(await statusOf()).toBe('active');
      await fake.stop();
      expect(await codeOf()).toEqual([502, 'upstream_failed']);
    });

    it('responds 502 for an address that is refused by now, and sends nothing', async () => {
      const { client, id } = await connect('zendesk');
      const sql = `UPDATE psa_connection SET credentials = credentials || '{"baseUrl": "http://0.0.0.0:9"}' WHERE id = $1`;
      await testApp.admin.query(sql, [id]);
      const { status, body } = await client.post(`/psa/connections/${id}/import/preview`);
      expect([status, body.code]).toEqual([502, 'psa_request_refused']);
    });

    it('needs partner scope, full access, both permissions and a second factor', async () => {
      const { client, partnerId, id } = await connect('zendesk');
      const orgId = (await client.post('/orgs/organizations', { name: 'Own' }).expect(201)).body.id as string;
      const codesOf = async (user: FakeUser) => {
        const as = await colleague(partnerId, user);
        const responses = [
          await as.post(`/psa/connections/${id}/import/preview`),
          await as.post(`/psa/connections/${id}/import`, { rows: [] }),
        ];
        return [...new Set(responses.map(({ body }) => body.code))];
      };
      expect(await codesOf({ scope: 'organization', orgId })).toEqual(['scope_not_allowed']);
      expect(await codesOf({ orgAccess: 'selected', orgIds: [orgId] })).toEqual(['full_partner_access_required']);
      expect(await codesOf({ mfa: false })).toEqual(['mfa_required']);
      expect(await codesOf({ permissions: ['organizations:write'] })).toEqual(['permission_denied']);
      expect(await codesOf({ partnerId: await testApp.createPartner() })).toEqual(['not_found']);
    });

    it('refuses malformed rows as a whole', async () => {
      const { client, id, partnerId } = await connect('zendesk');
      const fieldsOf = async (rows: unknown) => {
        const { body } = await client.post(`/psa/connections/${id}/import`, { rows }).expect(400);
        return Object.keys(body.details.fieldErrors);
      };
      const good = { organization: 'A', externalId: '1' };
      expect(await fieldsOf([good, { organization: 'B' }])).toEqual(['rows.1.externalId']);
      expect(await fieldsOf([good, { externalId: '2' }])).toEqual(['rows.1.organization']);
      expect(await fieldsOf([good, 7])).toEqual(['rows.1']);
      expect(await fieldsOf(Array(1_001).fill(good))).toEqual(['rows']);
      expect(await countOf('organization', partnerId)).toBe(0);
    });

    it('limits previews of a user to ten an hour, and of a partner to two at a time', async () => {
      const { client, id, partnerId } = await connect('zendesk', 1);
      const path = `/psa/connections/${id}/import/preview`;
      const statuses: number[] = [];
      for (let n = 0; n < 11; n += 1) statuses.push((await client.post(path)).status);
      expect(statuses).toEqual([...Array(10).fill(200), 429]);
      Object.assign(PSA_LIMITS, { listingMs: 2_000, requestMs: 1_500 });
      fake.fault = () => 'hang';
      const user = await colleague(partnerId);
      const responses = await Promise.all([1, 2, 3].map(() => user.post(path)));
      expect(responses.map(({ status }) => status).sort()).toEqual([429, 502, 502]);
      const { body } = await user.post('/orgs/import/preview', { rows: [{ organization: 'A' }] });
      expect(body.rows).toHaveLength(1);
    });
  });
});
