import type { INestApplication } from '@nestjs/common';
import { companiesOf, FakePsa, type FakeCompany } from '@rmm/testing';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';
import { PSA_SYNC_LIMITS } from '../psa.limits.js';
import { SyncPsaJob } from './sync-psa.job.js';

interface Proposal {
  id: string;
  kind: string;
  externalId: string;
  name: string;
  annotation: string | null;
  organizationId: string | null;
  organizationName: string | null;
}

describe('PsaSyncService', () => {
  let testApp: ProvisioningTestApp;
  let runDue: () => Promise<void>;
  let fake: FakePsa;
  const original = { ...PSA_SYNC_LIMITS };

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start({
      IS_HOSTED: 'false',
      OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8',
      SECRET_ENCRYPTION_KEY: 'the key ring of both replicas here',
    });
    runDue = takeJob(testApp.app);
  });
  afterAll(() => testApp?.stop());
  afterEach(async () => {
    Object.assign(PSA_SYNC_LIMITS, original);
    await fake?.stop();
  });

  /** Returns the job of a replica, whose runs the spec starts from now on. */
  function takeJob(app: INestApplication): () => Promise<void> {
    const job = app.get(SyncPsaJob, { strict: false });
    const run = job.run.bind(job);
    job.run = () => Promise.resolve();
    return run;
  }
  const scheduleNow = (id: string) =>
    testApp.admin.query(`UPDATE psa_sync SET next_run_at = now() - interval '1 second' WHERE connection_id = $1`, [id]);

  /** A partner with a connection whose sync has run once. */
  async function start(rule: 'propose' | 'import', companies: FakeCompany[] | number, caps = {}) {
    fake = await new FakePsa('connectwise', companies).start();
    const partnerId = await testApp.createPartner(caps);
    const client = await testApp.clientFor({ partnerId });
    const body = { ownerScope: 'partner', provider: 'connectwise', name: 'PSA', credentials: fake.credentials };
    const { id } = (await client.post('/psa/connections', body).expect(201)).body as { id: string };
    const path = `/psa/connections/${id}`;
    const shown = async () => (await client.get(`${path}/sync`).expect(200)).body;
    const settled = () =>
      eventually(async () => {
        await runDue();
        const sync = await shown();
        if (sync.running || (sync.enabled && Date.parse(sync.nextRunAt) <= Date.now())) throw new Error('not settled');
        return sync;
      });
    const runAgain = async () => {
      await scheduleNow(id);
      return settled();
    };
    await client.put(`${path}/sync`, { enabled: true, rule }).expect(200);
    const first = await settled();
    const proposals = async (query = ''): Promise<Proposal[]> =>
      (await client.get(`${path}/proposals?sort=name&limit=100${query}`).expect(200)).body.data;
    const organizations = async () => {
      const sql = `SELECT name FROM organization WHERE partner_id = $1 AND deleted_at IS NULL ORDER BY name`;
      const { rows } = await testApp.admin.query<{ name: string }>(sql, [partnerId]);
      return rows.map(({ name }) => name);
    };
    return { id, path, client, partnerId, first, shown, settled, runAgain, proposals, organizations };
  }

  it('proposes new companies and imports none, and proposes each once', async () => {
    const { first, proposals, organizations, runAgain } = await start('propose', 3);
    expect(first).toMatchObject({ enabled: true, rule: 'propose', intervalMinutes: 1_440, failures: 0 });
    expect(first.lastResult).toEqual({
      outcome: 'success',
      fetched: 3,
      proposed: 3,
      imported: 0,
      renamed: 0,
      truncationReason: null,
      runId: null,
      error: null,
    });
    const wait = Date.parse(first.nextRunAt) - Date.parse(first.lastRunAt);
    expect(wait).toBeGreaterThanOrEqual(0.9 * 86_400_000);
    expect(wait).toBeLessThanOrEqual(1.1 * 86_400_000);
    const listed = await proposals();
    expect(listed.map(({ name, annotation }) => [name, annotation])).toEqual([
      ['Company 1', 'create'],
      ['Company 2', 'create'],
      ['Company 3', 'create'],
    ]);
    fake.companies = companiesOf(4);
    expect((await runAgain()).lastResult).toMatchObject({ fetched: 4, proposed: 1 });
    expect(await organizations()).toEqual([]);
  });

  it('imports companies that match nothing as a run of their own, and proposes the others', async () => {
    const { client, path, organizations, runAgain, first, proposals, id } = await start('import', []);
    expect(first.lastResult).toMatchObject({ outcome: 'success', imported: 0, runId: null });
    await client.post('/orgs/organizations', { name: 'Company 2' }).expect(201);
    const gone = (await client.post('/orgs/organizations', { name: 'Company 3' }).expect(201)).body.id as string;
    await client.delete(`/orgs/organizations/${gone}`).expect(200);
    fake.companies = companiesOf(4);

    const { lastResult } = await runAgain();
    expect(lastResult).toMatchObject({ imported: 2, proposed: 2, runId: expect.any(String) });
    expect(await organizations()).toEqual(['Company 1', 'Company 2', 'Company 4']);
    expect((await proposals()).map(({ name, annotation }) => [name, annotation])).toEqual([
      ['Company 2', 'name-match'],
      ['Company 3', 'matched-soft-deleted'],
    ]);
    const { rows } = await testApp.admin.query('SELECT source, imported FROM import_run WHERE id = $1', [
      lastResult.runId,
    ]);
    expect(rows).toEqual([{ source: 'psa_sync', imported: 2 }]);
    const entry = await testApp.waitForMessage('psa.connection.import', ({ aggregateId }) => aggregateId === id);
    expect(entry.data).toMatchObject({ actor: { type: 'system' }, details: { imported: 2 } });
    expect((await client.get(path).expect(200)).body.data.lastSyncedAt).not.toBeNull();
    expect((await runAgain()).lastResult).toMatchObject({ imported: 0, proposed: 0 });
  });

  it('proposes what exceeds the cap of the partner', async () => {
    const { first, proposals } = await start('import', 3, { maxOrganizations: 2 });
    expect(first.lastResult).toMatchObject({ outcome: 'success', imported: 2, proposed: 1 });
    expect((await proposals()).map(({ name }) => name)).toEqual(['Company 3']);
  });

  it('reports another name of a linked company until both are equal, and renames nothing', async () => {
    const { client, runAgain, proposals, organizations } = await start('import', 2);
    fake.companies = [
      { id: 1, name: 'Company One' },
      { id: 2, name: ' COMPANY  2' },
    ];
    expect((await runAgain()).lastResult).toMatchObject({ renamed: 1, imported: 0, proposed: 0 });
    const [rename, ...others] = await proposals();
    expect([rename.kind, rename.name, rename.organizationName, rename.annotation]).toEqual([
      'rename',
      'Company One',
      'Company 1',
      null,
    ]);
    expect(others).toEqual([]);
    expect(await organizations()).toEqual(['Company 1', 'Company 2']);
    await client.patch(`/orgs/organizations/${rename.organizationId}`, { name: 'Company One' }).expect(200);
    expect((await runAgain()).lastResult).toMatchObject({ renamed: 0 });
    expect(await proposals()).toEqual([]);
  });

  it('reports a dismissed name again when the company gets yet another one', async () => {
    const { client, path, runAgain, proposals } = await start('import', 1);
    fake.companies = [{ id: 1, name: 'Second' }];
    await runAgain();
    const [{ id }] = await proposals();
    expect((await client.post(`${path}/proposals/dismiss`, { ids: [id] }).expect(200)).body).toEqual({ dismissed: 1 });
    await runAgain();
    expect(await proposals()).toEqual([]);
    fake.companies = [{ id: 1, name: 'Third' }];
    await runAgain();
    expect((await proposals()).map(({ name }) => name)).toEqual(['Third']);
  });

  it('withdraws proposals of companies that are gone or imported, and deletes no organization', async () => {
    const { client, path, runAgain, proposals, organizations } = await start('propose', 3);
    const { rows } = (await client.post(`${path}/import/preview`).expect(200)).body;
    await client.post(`${path}/import`, { rows: rows.slice(0, 1) }).expect(200);
    fake.companies = companiesOf(1, 2);
    await runAgain();
    expect((await proposals()).map(({ name }) => name)).toEqual(['Company 2']);
    fake.companies = [];
    await runAgain();
    expect(await proposals()).toEqual([]);
    expect(await organizations()).toEqual(['Company 1']);
  });

  it('goes on soon after the cap, until every company is proposed', async () => {
    Object.assign(PSA_SYNC_LIMITS, { companies: 100 });
    const { first, runAgain, proposals } = await start('propose', 250);
    expect(first.lastResult).toMatchObject({ truncationReason: 'cap', proposed: 100 });
    expect(Date.parse(first.nextRunAt) - Date.parse(first.lastRunAt)).toBeLessThanOrEqual(66_000);
    expect((await runAgain()).lastResult).toMatchObject({ truncationReason: 'cap', proposed: 100 });
    expect((await runAgain()).lastResult).toMatchObject({ truncationReason: null, proposed: 50, fetched: 250 });
    expect((await runAgain()).lastResult).toMatchObject({ truncationReason: null, proposed: 0 });
    expect(await proposals('&page=3')).toHaveLength(50);
  });

  it('proposes instead of importing after one of its runs was undone', async () => {
    const { id, client, path, runAgain, shown, proposals, first } = await start('import', 2);
    const { runId } = first.lastResult;
    // as an undo leaves it
    await testApp.admin.query(`UPDATE import_run SET state = 'undone' WHERE id = $1`, [runId]);
    await testApp.admin.query('DELETE FROM external_link WHERE connection_id = $1', [id]);
    await testApp.admin.query(
      `UPDATE organization SET name = 'x' || id, name_key = 'x' || id, deleted_at = now() WHERE id IN
         (SELECT org_id FROM import_change WHERE run_id = $1)`,
      [runId],
    );
    expect((await runAgain()).lastResult).toMatchObject({ imported: 0, proposed: 2 });
    expect((await shown()).rule).toBe('propose');
    expect(await proposals()).toHaveLength(2);
    await client.put(`${path}/sync`, { enabled: true, rule: 'import' }).expect(200);
    fake.companies = companiesOf(3);
    expect((await runAgain()).lastResult).toMatchObject({ imported: 1, proposed: 0 });
  });

  it('disables itself after the PSA refused the credentials five times, and says so', async () => {
    const { id, client, path, runAgain, shown, first } = await start('propose', 1);
    fake.fault = () => ({ status: 401 });
    let sync = first;
    const waits: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      sync = await runAgain();
      waits.push((Date.parse(sync.nextRunAt) - Date.parse(sync.lastRunAt)) / 60_000);
    }
    expect(sync).toMatchObject({ enabled: false, disabledReason: 'credentials', nextRunAt: null, failures: 5 });
    expect(sync.lastResult).toMatchObject({
      outcome: 'failed',
      error: { code: 'upstream_failed', message: 'The PSA refused the credentials' },
    });
    [5, 10, 20, 40].forEach((minutes, n) => {
      expect(waits[n]).toBeGreaterThan(0.89 * minutes);
      expect(waits[n]).toBeLessThan(1.11 * minutes);
    });
    expect((await client.get(path).expect(200)).body.data.status).toBe('error');
    const entry = await testApp.waitForMessage('psa.sync.disable', ({ aggregateId }) => aggregateId === id);
    expect(entry.data).toMatchObject({ result: 'failure', details: { reason: 'credentials', failures: 5 } });
    fake.fault = () => undefined;
    await client.put(`${path}/sync`, { enabled: true }).expect(200);
    await runAgain();
    expect(await shown()).toMatchObject({ enabled: true, disabledReason: null, failures: 0 });
    expect((await client.get(path).expect(200)).body.data.status).toBe('active');
  });

  it('keeps proposals and tries again after another failure', async () => {
    const { runAgain, proposals } = await start('propose', 2);
    fake.fault = () => ({ text: '<html>' });
    expect(await runAgain()).toMatchObject({ enabled: true, failures: 1, lastResult: { outcome: 'failed' } });
    expect(await proposals()).toHaveLength(2);
    fake.fault = () => undefined;
    expect(await runAgain()).toMatchObject({ failures: 0, lastResult: { outcome: 'success' } });
  });

  it('skips runs while the partner is not active', async () => {
    const { id, partnerId, runAgain, client } = await start('import', []);
    fake.companies = companiesOf(2);
    await testApp.publishPartner('partner.updated', partnerId, 2, { status: 'suspended' });
    await scheduleNow(id);
    const requests = fake.requests.length;
    const { rows } = await eventually(async () => {
      await runDue();
      const sql = `SELECT last_result AS result FROM psa_sync WHERE partner_id = $1 AND next_run_at > now()`;
      const found = await testApp.admin.query(sql, [partnerId]);
      if (found.rows.length === 0) throw new Error('not run');
      return found;
    });
    expect(rows[0].result).toMatchObject({ outcome: 'skipped', error: { code: 'partner_inactive' } });
    expect(fake.requests).toHaveLength(requests);
    await testApp.publishPartner('partner.updated', partnerId, 3, { status: 'active' });
    await eventually(async () => expect((await client.get('/psa/connections')).status).toBe(200));
    expect((await runAgain()).lastResult).toMatchObject({ imported: 2 });
  });

  it('hands a run back when the service stops, and another replica does it', async () => {
    const { id, settled } = await start('propose', []);
    fake.companies = companiesOf(2);
    const replica = await testApp.startReplica();
    const runOnReplica = takeJob(replica);
    let arrived: () => void = () => undefined;
    const hanging = new Promise<void>((resolve) => (arrived = resolve));
    fake.fault = () => {
      arrived();
      return 'hang';
    };
    await scheduleNow(id);
    const run = runOnReplica();
    await hanging;
    const lease = await testApp.admin.query('SELECT lease_id FROM psa_sync WHERE connection_id = $1', [id]);
    expect(lease.rows[0].lease_id).not.toBeNull();
    const startedMs = performance.now();
    await Promise.all([replica.close(), run]);
    expect(performance.now() - startedMs).toBeLessThan(15_000);
    fake.fault = () => undefined;
    expect((await settled()).lastResult).toMatchObject({ outcome: 'success', proposed: 2 });
  });

  it('repeats the run of a process that was killed, once its lease has ended', async () => {
    const { id, shown, settled } = await start('import', []);
    fake.companies = companiesOf(2);
    const lease = (minutes: number) =>
      testApp.admin.query(
        `UPDATE psa_sync SET next_run_at = now() - interval '1 second', lease_id = gen_random_uuid(),
           leased_until = now() + make_interval(mins => $2) WHERE connection_id = $1`,
        [id, minutes],
      );
    await lease(5);
    await runDue();
    expect(await shown()).toMatchObject({ running: true, lastResult: { imported: 0 } });
    await lease(-5);
    expect((await settled()).lastResult).toMatchObject({ imported: 2 });
  });

  it('drops what a run found that lost its lease meanwhile', async () => {
    const { id, client, path, organizations, shown } = await start('import', []);
    fake.companies = companiesOf(2);
    await scheduleNow(id);
    let asked = false;
    let disabled = false;
    // The run waits until the sync is disabled.
    fake.fault = () => {
      if (!asked) void client.put(`${path}/sync`, { enabled: false }).then(() => (disabled = true));
      asked = true;
      return disabled ? undefined : { status: 429 };
    };
    await eventually(async () => {
      await runDue();
      const sync = await shown();
      if (sync.enabled || sync.running) throw new Error('still enabled');
    });
    expect(await organizations()).toEqual([]);
    expect(await shown()).toMatchObject({ enabled: false, nextRunAt: null, lastResult: { imported: 0 } });
  });
});
