import {
  ApiClient,
  connectToFleet,
  createOrganization,
  eventually,
  FakePsa,
  inviteAndAccept,
  partnerWithMfa,
  registerPartner,
  type FakeVendorName,
} from '@rmm/testing';
import { must } from '../steps.js';

jest.setTimeout(90_000);

const CONNECTIONS = '/psa/connections';
/** A client may send 300 requests a minute. */
const SLOWER_THAN_THE_LIMIT = { timeoutMs: 30_000, everyMs: 300 };

describe('a PSA', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let fake: FakePsa;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
  });
  afterEach(() => fake?.stop());

  async function connect(name: FakeVendorName, companies: number, as = client) {
    fake = await new FakePsa(name, companies).start();
    const body = { ownerScope: 'partner', provider: name, name: `Our ${name}`, credentials: fake.credentials };
    const { id } = must(await as.post(CONNECTIONS, body), 201) as { id: string };
    return { id, path: `${CONNECTIONS}/${id}/import` };
  }

  it.each<FakeVendorName>(['connectwise', 'autotask', 'servicenow', 'freshservice', 'zendesk', 'halopsa', 'syncro'])(
    'of %s is tested, previewed and imported once',
    async (name) => {
      const admin = (await partnerWithMfa(fleet)).client;
      const { id, path } = await connect(name, 120, admin);
      expect(must(await admin.post(`${CONNECTIONS}/${id}/test`), 200).success).toBe(true);
      const preview = must(await admin.post(`${path}/preview`), 200);
      expect(preview).toMatchObject({ truncated: false, fetched: 120, alreadyLinked: 0, malformed: 0 });
      expect(preview.rows).toHaveLength(120);
      const { imported, errors } = must(await admin.post(path, { rows: preview.rows }), 200);
      expect([imported.length, errors]).toEqual([120, []]);
      expect(must(await admin.post(`${path}/preview`), 200)).toMatchObject({ rows: [], alreadyLinked: 120 });
      const shown = must(await admin.get(`/orgs/organizations/${imported[0].organizationId}`), 200);
      expect(shown.externalLinks).toEqual([{ system: name, externalId: '1' }]);
      await eventually(async () => {
        const { data } = must(await admin.get(`/audit-logs?resourceId=${id}`), 200);
        expect(data.map(({ action }: { action: string }) => action)).toEqual([
          'psa.connection.import',
          'psa.connection.test',
          'psa.connection.create',
        ]);
      });
    },
  );

  it('creates nothing twice when a preview is committed at both replicas at once', async () => {
    const admin = (await partnerWithMfa(fleet)).client;
    const { path } = await connect('zendesk', 40, admin);
    const { rows } = must(await admin.post(`${path}/preview`), 200);
    const { instances } = fleet.services.find(({ name }) => name === 'provisioning') ?? { instances: [] };
    const clients = instances.map(({ port }) => new ApiClient(`http://127.0.0.1:${port}`, admin.credentials));
    const responses = await Promise.all(clients.map((each) => each.post(path, { rows })));
    expect(responses.flatMap(({ body }) => body.imported ?? [])).toHaveLength(40);
    const { pagination } = must(await admin.get('/orgs/organizations?limit=1'), 200);
    // with the organization of the sign-up
    expect([40, 41]).toContain(pagination.total);
  });

  it('is synced by a schedule: imports as a run that is undone, then proposes', async () => {
    const admin = (await partnerWithMfa(fleet)).client;
    const { id } = await connect('connectwise', 3, admin);
    const path = `${CONNECTIONS}/${id}`;
    const namesOf = async () => {
      const { data } = must(await admin.get('/orgs/organizations?sort=name'), 200);
      return (data as { name: string }[]).map(({ name }) => name).filter((name) => name.startsWith('Company'));
    };
    const syncedAfter = (before: string | null) =>
      eventually(async () => {
        const sync = must(await admin.get(`${path}/sync`), 200);
        expect(sync.lastRunAt).not.toBe(before);
        expect(sync.running).toBe(false);
        return sync;
      }, SLOWER_THAN_THE_LIMIT);
    must(await admin.put(`${path}/sync`, { enabled: true, rule: 'import' }), 200);
    const first = await syncedAfter(null);
    expect(first.lastResult).toMatchObject({ outcome: 'success', imported: 3, runId: expect.any(String) });
    expect(await namesOf()).toEqual(['Company 1', 'Company 2', 'Company 3']);

    must(await admin.post(`/imports/${first.lastResult.runId}/undo`), 202);
    await eventually(async () => expect(await namesOf()).toEqual([]), SLOWER_THAN_THE_LIMIT);
    must(await admin.post(`${path}/sync/run`), 202);
    const second = await syncedAfter(first.lastRunAt as string);
    expect(second).toMatchObject({ rule: 'propose', lastResult: { imported: 0, proposed: 3 } });
    const { data } = must(await admin.get(`${path}/proposals?sort=name`), 200);
    const items = [{ id: data[0].id as string, forceCreate: true }];
    const accepted = must(await admin.post(`${path}/proposals/accept`, { items }), 200);
    expect([accepted.imported.length, accepted.errors]).toEqual([1, []]);
    expect(await namesOf()).toEqual(['Company 1']);

    const theirs = (await partnerWithMfa(fleet)).client;
    const responses = [
      await theirs.get(`${path}/sync`),
      await theirs.get(`${path}/proposals`),
      await theirs.put(`${path}/sync`, { enabled: true }),
      await theirs.post(`${path}/proposals/accept`, { items }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });

  it('is refused to other tenants, organizations and callers without a second factor', async () => {
    const { id, path } = await connect('zendesk', 2);
    const { orgId } = await createOrganization(client);
    const roles = must(await client.get(`/users/roles?orgId=${orgId}`), 200).data as { id: string; name: string }[];
    const roleId = roles.find(({ name }) => name === 'Org Admin')?.id;
    const member = (await inviteAndAccept(fleet, client, { roleId, orgId })).client;
    const theirs = (await partnerWithMfa(fleet)).client;
    const plain = (await registerPartner(fleet)).client;
    const codesOf = async (as: ApiClient) => {
      const responses = [
        await as.get(`${CONNECTIONS}/${id}`),
        await as.patch(`${CONNECTIONS}/${id}`, { name: 'Mine' }),
        await as.post(`${path}/preview`),
        await as.post(path, { rows: [{ organization: 'A', externalId: '1' }] }),
        await as.delete(`${CONNECTIONS}/${id}`),
      ];
      return responses.map(({ status, body }) => body.code ?? status);
    };
    expect(await codesOf(theirs)).toEqual(Array(5).fill('not_found'));
    expect(await codesOf(member)).toEqual([
      200,
      ...Array(4).fill(expect.stringMatching(/scope_not_allowed|mfa_required/)),
    ]);
    expect(await codesOf(plain)).toEqual(['not_found', ...Array(4).fill('mfa_required')]);
    expect(await codesOf(new ApiClient(fleet.baseUrl))).toEqual(Array(5).fill('unauthenticated'));
    expect(fake.requests).toEqual([]);
    const shown = JSON.stringify(must(await member.get(`${CONNECTIONS}/${id}`), 200));
    expect(shown).not.toContain('sync@acme.example');
    expect(JSON.stringify(must(await client.get(`${CONNECTIONS}/${id}`), 200))).not.toContain('zendesk-secret');
  });

  it('gets a clear response when it fails, leads elsewhere or is down', async () => {
    const { path } = await connect('zendesk', 300);
    const codeOf = async () => {
      const { status, body } = await client.post(`${path}/preview`);
      return [status, body.code];
    };
    fake.fault = () => ({ text: '<html>' });
    expect(await codeOf()).toEqual([502, 'upstream_failed']);
    fake.fault = () => ({ status: 307, headers: { location: 'http://169.254.169.254/' } });
    expect(await codeOf()).toEqual([502, 'psa_request_refused']);
    fake.fault = () => undefined;
    fake.defects = { nextLink: () => 'http://127.0.0.2/page' };
    expect(await codeOf()).toEqual([502, 'psa_request_refused']);
    await fake.stop();
    expect(await codeOf()).toEqual([502, 'upstream_failed']);
  });

  it('refuses malformed connections and rows', async () => {
    const good = { ownerScope: 'partner', provider: 'syncro', name: 'S', credentials: {} };
    for (const [changes, field] of [
      [{ provider: 'x' }, 'provider'],
      [{ credentials: { baseUrl: 'http://169.254.169.254' } }, 'credentials.baseUrl'],
      [{ credentials: { key: 'x' } }, 'credentials.key'],
    ] as const) {
      const { status, body } = await client.post(CONNECTIONS, { ...good, ...changes });
      expect([status, Object.keys(body.details.fieldErrors as object)]).toEqual([400, [field]]);
    }
    const { path } = await connect('zendesk', 1);
    expect((await client.post(path, { rows: [{ organization: 'A' }] })).body.code).toBe('validation_failed');
    const jira = await connect('jira', 1);
    expect((await client.post(`${jira.path}/preview`)).body.code).toBe('psa_listing_unsupported');
  });
});
