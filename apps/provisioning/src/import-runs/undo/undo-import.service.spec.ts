import { randomUUID } from 'node:crypto';
import type { Envelope } from '@rmm/contracts';
import { UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';
import { storedState } from '../../../test/stored-state.js';
import { OrganizationUseService } from './organization-use.service.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;
type Kind = 'organizations' | 'contacts';

/** Returns the same numbers for the same seed: xorshift. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

describe('POST /imports/:id/undo', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  async function freshPartner(caps = {}) {
    const partnerId = await testApp.createPartner(caps);
    return {
      partnerId,
      client: await testApp.clientFor({ partnerId }),
      state: () => storedState(testApp.admin, partnerId),
    };
  }
  const paths = { organizations: '/orgs/import', contacts: '/orgs/contacts/import' };
  async function imported(client: Client, kind: Kind, rows: object[], mode = 'update') {
    const { status, body } = await client.post(paths[kind], { rows, mode });
    expect(status).toBe(200);
    return body;
  }
  async function undo(client: Client, runId: string) {
    const { status, body } = await client.post(`/imports/${runId}/undo`);
    expect([status, body.state]).toEqual([202, 'undoing']);
    return eventually(async () => {
      const run = (await client.get(`/imports/${runId}`)).body;
      expect(run.state).toBe('undone');
      return run;
    });
  }
  const keptOf = async (client: Client, runId: string) =>
    (await client.get(`/imports/${runId}/changes?outcome=kept`)).body.data.map(
      ({ resource, reason }: { resource: string; reason: string }) => [resource, reason],
    );

  it('lists a JSON import as a run with its numbers', async () => {
    const { client, partnerId } = await freshPartner();
    const { runId } = await imported(client, 'organizations', [
      { organization: 'Acme' },
      { organization: ' ' + 'acme' },
    ]);
    expect((await client.get('/imports')).body.data).toMatchObject([
      { id: runId, partnerId, kind: 'organizations', source: 'rows', state: 'completed', imported: 2, total: 2 },
    ]);
    const changes = (await client.get(`/imports/${runId}/changes`)).body.data;
    expect(changes).toMatchObject([{ resource: 'organization', action: 'create', outcome: null }]);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'restores the former state of random imports byte for byte, seed %i',
    async (seed) => {
      const random = randomNumbers(seed);
      const pick = <T>(items: readonly T[]): T => items[random(items.length)];
      const { client, state } = await freshPartner();
      const names = ['Acme', 'Beta', 'Gamma', 'Delta', 'Omega', 'Sigma'];
      const states: string[][] = [];
      const runs: string[] = [];
      const organizationRow = () => ({
        organization: pick(names),
        externalId: pick([undefined, undefined, `E-${random(6)}`]),
        externalSystem: pick([undefined, 'crm']),
        site: pick([undefined, 'North', 'South', 'Main']),
        timezone: pick([undefined, 'Europe/Berlin', 'Asia/Tokyo']),
        address: pick([undefined, { city: pick(['Bonn', 'Rome']) }]),
        reactivate: random(2) === 0,
        expectedAnnotation: pick([undefined, 'name-match']),
      });
      const contactRow = () => ({
        organization: pick(names),
        name: pick(['Ann', 'Bob', 'Eve', undefined]),
        email: `${pick(['ann', 'bob', 'eve'])}@x.example`,
        phone: pick([undefined, '1', '22']),
        roles: pick([undefined, ['billing'], ['technical', 'admin']]),
        externalId: pick([undefined, `P-${random(5)}`]),
        site: pick([undefined, undefined, 'North']),
      });
      for (let step = 0; step < 8; step += 1) {
        if (step === 4) {
          // The reactivation of a deleted organization is undone too.
          const [first] = (await client.get('/orgs/organizations?sort=name')).body.data;
          if (first) await client.delete(`/orgs/organizations/${first.id}`);
        }
        states.push(await state());
        const kind: Kind = step < 2 || random(2) === 0 ? 'organizations' : 'contacts';
        const newRow: () => object = kind === 'organizations' ? organizationRow : contactRow;
        const rows = Array.from({ length: 1 + random(12) }, newRow);
        const accepted = kind === 'contacts' ? await confirmed(client, rows) : rows;
        runs.push((await imported(client, kind, accepted, pick(['skip', 'update']))).runId);
      }
      for (const runId of [...runs].reverse()) {
        const former = states.pop();
        const run = await undo(client, runId);
        expect(run.undo.kept).toBe(0);
        expect(await state()).toEqual(former);
        if (states.length === 4) break; // before it, an organization was deleted by hand
      }
    },
    120_000,
  );

  /** Repeats the annotations and ids of the preview, so that matches are updated too. */
  async function confirmed(client: Client, rows: object[]) {
    const { body } = await client.post('/orgs/contacts/import/preview', { rows });
    return body.rows.map(({ annotation, contactId }: { annotation: string; contactId: string | null }, at: number) => ({
      ...rows[at],
      expectedAnnotation: annotation,
      ...(contactId !== null && { expectedContactId: contactId }),
    }));
  }

  it('keeps what was changed or built on, reports the reason, and undoes the rest', async () => {
    const { client, partnerId } = await freshPartner();
    const rows = ['Renamed', 'With device', 'With contact', 'With site', 'Deleted', 'Untouched'].map(
      (organization) => ({
        organization,
        externalId: organization,
      }),
    );
    const { runId, imported: items } = await imported(client, 'organizations', rows);
    const idOf = (at: number): string => items[at].organizationId;
    await client.patch(`/orgs/organizations/${idOf(0)}`, { name: 'Other' });
    const { orgId, siteId } = { orgId: idOf(1), siteId: items[1].siteId };
    await testApp.admin.query(
      `INSERT INTO device (partner_id, org_id, site_id, hostname, os_type) VALUES ($1, $2, $3, 'pc-1', 'linux')`,
      [partnerId, orgId, siteId],
    );
    await client.post(`/orgs/organizations/${idOf(2)}/contacts`, { name: 'Ann' });
    await client.post('/orgs/sites', { orgId: idOf(3), name: 'Second' });
    await client.delete(`/orgs/organizations/${idOf(4)}`);
    const run = await undo(client, runId);
    expect(run.undo).toEqual({ until: null, restored: 1, kept: 5 });
    expect((await keptOf(client, runId)).sort()).toEqual([
      ['organization', 'changed'],
      ['organization', 'deleted'],
      ['organization', 'in_use'],
      ['organization', 'in_use'],
      ['organization', 'in_use'],
    ]);
    const left = (await client.get('/orgs/organizations?sort=name')).body.data.map(
      ({ name }: { name: string }) => name,
    );
    expect(left).toEqual(['Other', 'With contact', 'With device', 'With site']);
    const preview = (await client.post('/orgs/import/preview', { rows: [rows[5]] })).body.rows[0];
    expect(preview).toMatchObject({ annotation: 'create', organizationId: null });
  });

  it('keeps created organizations with members, keys or webhooks', async () => {
    const { client } = await freshPartner();
    const rows = ['With member', 'With key', 'With webhook', 'Unused'].map((organization) => ({ organization }));
    const { runId, imported: items } = await imported(client, 'organizations', rows);
    const [member, key, webhook] = items.map(({ organizationId }: { organizationId: string }) => organizationId);
    testApp.identity.organizationsInUse.add(member);
    testApp.credentials.organizationsWithKeys.add(key);
    testApp.credentials.organizationsWithWebhooks.add(webhook);
    expect((await undo(client, runId)).undo).toMatchObject({ restored: 1, kept: 3 });
    expect(await keptOf(client, runId)).toEqual(Array.from({ length: 3 }, () => ['organization', 'in_use']));
    const left = (await client.get('/orgs/organizations?sort=name')).body.data.map(({ id }: { id: string }) => id);
    expect(left.sort()).toEqual([member, key, webhook].sort());
  });

  it('removes nothing while a service does not reply, and goes on once it does', async () => {
    const { client } = await freshPartner();
    const { runId, imported: items } = await imported(client, 'organizations', [{ organization: 'Acme' }]);
    testApp.credentials.hasWebhookDispatcher = false;
    const service = testApp.app.get(OrganizationUseService);
    const asked = jest.spyOn(service, 'listUsed');
    try {
      expect((await client.post(`/imports/${runId}/undo`)).status).toBe(202);
      await eventually(() => expect(asked.mock.results.length).toBeGreaterThan(0));
      await expect(asked.mock.results[0]?.value).rejects.toBeInstanceOf(UnavailableError);
      const run = (await client.get(`/imports/${runId}`)).body;
      expect(run).toMatchObject({ state: 'undoing', undo: { restored: 0, kept: 0 } });
      expect((await client.get(`/orgs/organizations/${items[0].organizationId}`)).status).toBe(200);
    } finally {
      testApp.credentials.hasWebhookDispatcher = true;
      asked.mockRestore();
    }
    await eventually(async () =>
      expect((await client.get(`/imports/${runId}`)).body).toMatchObject({ state: 'undone', undo: { restored: 1 } }),
    );
  });

  it('keeps a site and a contact that were changed after the import', async () => {
    const { client } = await freshPartner();
    const orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    const site = (await client.post('/orgs/sites', { orgId, name: 'North' })).body;
    const row = { organization: 'Acme', expectedAnnotation: 'name-match', site: 'North', timezone: 'Asia/Tokyo' };
    const { runId } = await imported(client, 'organizations', [row, { ...row, site: 'South' }]);
    await client.patch(`/orgs/sites/${site.id}`, { timezone: 'Europe/Rome' });
    const contacts = [
      { organization: 'Acme', name: 'Ann', site: 'South' },
      { organization: 'Acme', name: 'Bob' },
    ];
    const second = await imported(client, 'contacts', contacts);
    await client.patch(`/orgs/contacts/${second.imported[1].contactId}`, { phone: '1' });
    expect((await undo(client, runId)).undo).toMatchObject({ restored: 0, kept: 2 });
    expect((await keptOf(client, runId)).sort()).toEqual([
      ['site', 'changed'],
      ['site', 'in_use'],
    ]);
    expect((await undo(client, second.runId)).undo).toMatchObject({ restored: 1, kept: 1 });
    expect(await keptOf(client, second.runId)).toEqual([['contact', 'changed']]);
  });

  it('returns 409 for a run that is undone already and 410 after 72 hours', async () => {
    const { client } = await freshPartner();
    const { runId } = await imported(client, 'organizations', [{ organization: 'Acme' }]);
    await undo(client, runId);
    const again = await client.post(`/imports/${runId}/undo`);
    expect([again.status, again.body.code]).toEqual([409, 'import_run_state_conflict']);
    const late = (await imported(client, 'organizations', [{ organization: 'Beta' }])).runId;
    await testApp.admin.query(`UPDATE import_run SET committed_at = now() - interval '73 hours' WHERE id = $1`, [late]);
    const expired = await client.post(`/imports/${late}/undo`);
    expect([expired.status, expired.body.code]).toEqual([410, 'import_undo_expired']);
  });

  it('publishes the deletion of a removed organization and writes it to the audit trail', async () => {
    const { client, partnerId } = await freshPartner();
    const { runId, imported: items } = await imported(client, 'organizations', [{ organization: 'Acme' }]);
    await undo(client, runId);
    const ours = ({ orgId }: { orgId: string | null }) => orgId === items[0].organizationId;
    expect((await testApp.waitForMessage('organization.deleted', ours)).data).toMatchObject({ name: 'Acme' });
    const ofPartner = (each: { partnerId: string | null }) => each.partnerId === partnerId;
    const isDeletion = (each: Envelope) => ofPartner(each) && JSON.stringify(each.data).includes('"deleted":true');
    expect((await testApp.waitForMessage('organizations.changed', isDeletion)).data).toMatchObject({
      organizations: [{ orgId: items[0].organizationId, deleted: true, version: 2 }],
    });
    expect((await testApp.waitForMessage('organization.delete', ours)).data).toMatchObject({
      details: { source: 'import_undo', runId },
    });
  });

  it('does not undo a run of another partner', async () => {
    const { client } = await freshPartner();
    const stranger = (await freshPartner()).client;
    const { runId } = await imported(client, 'organizations', [{ organization: randomUUID() }]);
    expect((await stranger.post(`/imports/${runId}/undo`)).status).toBe(404);
  });
});
