import { randomUUID } from 'node:crypto';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
} from '../../../test/provisioning-test-database.js';
import type { NewImportChange } from './import-change.types.js';
import { ImportJournalRepository, type NewRecordedRun } from './import-journal.repository.js';

describe('ImportJournalRepository', () => {
  const repository = new ImportJournalRepository();
  let database: ProvisioningTestDatabase;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());
  beforeEach(() => (partnerId = randomUUID()));

  const newRun = (): NewRecordedRun => ({
    ...{ runId: randomUUID(), partnerId, kind: 'organizations', source: 'rows', connectionId: null },
    ...{ mode: 'update', total: 9, createdBy: randomUUID() },
  });
  async function insertRun(caller = partnerCaller(partnerId)): Promise<NewRecordedRun> {
    const run = newRun();
    await database.tenants.transaction(caller, (tx) => repository.insertRun(tx, run));
    return run;
  }
  const rowOf = async (runId: string) =>
    (await database.admin.query('SELECT * FROM import_run WHERE id = $1', [runId])).rows[0];
  const changesOf = async (runId: string) =>
    (await database.admin.query('SELECT * FROM import_change WHERE run_id = $1 ORDER BY seq', [runId])).rows;
  const counts = { imported: 4, updated: 3, skipped: 2, failed: 0 };

  it('inserts a run that is complete and can be undone from now on', async () => {
    const { runId, createdBy } = await insertRun();
    const row = await rowOf(runId);
    expect(row).toMatchObject({ partner_id: partnerId, state: 'completed', total: 9, done: 0, created_by: createdBy });
    expect(row.committed_at).toEqual(expect.any(Date));
    expect(row.lease_id).toBeNull();
  });

  it.each([
    [0, 'completed'],
    [1, 'completed_with_errors'],
  ])('stores the numbers of a run with %i failed rows', async (failed, state) => {
    const { runId } = await insertRun();
    await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      repository.finishRun(tx, { runId, partnerId }, { ...counts, failed }),
    );
    expect(await rowOf(runId)).toMatchObject({ ...counts, failed, state, done: 9, finished_at: expect.any(Date) });
  });

  it('adds changes in their order, with their values and contents', async () => {
    const { runId } = await insertRun();
    const orgId = await database.createOrganization(partnerId);
    const [digestBefore, digestAfter] = [randomUUID(), randomUUID()];
    const values = { before: { timezone: 'UTC', address: null }, after: null, digestBefore, digestAfter };
    const changes: NewImportChange[] = [
      { orgId, resource: 'site', action: 'update', recordId: randomUUID(), ...values },
      { orgId, resource: 'organization_link', action: 'create', recordId: orgId, after: { externalId: '1' } },
    ];
    await database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
      await repository.insertChanges(tx, { runId, partnerId }, []);
      await repository.insertChanges(tx, { runId, partnerId }, changes);
    });
    const stored = await changesOf(runId);
    expect(stored).toMatchObject([
      { partner_id: partnerId, org_id: orgId, resource: 'site', before: values.before, digest_after: digestAfter },
      { resource: 'organization_link', record_id: orgId, after: { externalId: '1' }, digest_before: null },
    ]);
    expect(stored.map(({ outcome }) => outcome)).toEqual([null, null]);
  });

  it('leaves nothing of a savepoint that is rolled back', async () => {
    const { runId } = await insertRun();
    const orgId = await database.createOrganization(partnerId);
    const change: NewImportChange = { orgId, resource: 'organization', action: 'create', recordId: orgId };
    await database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
      const failing = tx.savepoint(async () => {
        await repository.insertChanges(tx, { runId, partnerId }, [change]);
        throw new Error('not written');
      });
      await expect(failing).rejects.toThrow('not written');
      await repository.insertChanges(tx, { runId, partnerId }, [change]);
    });
    expect(await changesOf(runId)).toHaveLength(1);
  });

  it('neither writes to a run of another partner nor with its organization', async () => {
    const { runId } = await insertRun();
    const stranger = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const change: NewImportChange = { orgId, resource: 'organization', action: 'create', recordId: orgId };
    const write = (scope: { runId: string; partnerId: string }) =>
      database.tenants.transaction(partnerCaller(stranger), async (tx) => {
        await repository.finishRun(tx, scope, counts);
        await repository.insertChanges(tx, scope, [change]);
      });
    await expect(write({ runId, partnerId })).rejects.toThrow(/row-level security/);
    await expect(write({ runId, partnerId: stranger })).rejects.toThrow(/foreign key/);
    expect(await rowOf(runId)).toMatchObject({ imported: 0, done: 0 });
    expect(await changesOf(runId)).toEqual([]);
  });

  it('does not insert a run for a caller of one organization', async () => {
    const orgId = await database.createOrganization(partnerId);
    await expect(insertRun(organizationCaller(partnerId, orgId))).rejects.toThrow(/row-level security/);
  });
});
