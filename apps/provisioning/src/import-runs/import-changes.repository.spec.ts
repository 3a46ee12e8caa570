import { randomUUID } from 'node:crypto';
import { insertImportRun, memberCaller } from '../../test/import-run-records.js';
import { organizationCaller, partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { ImportChangesRepository } from './import-changes.repository.js';
import type { JournalScope } from './journal/import-change.types.js';

describe('ImportChangesRepository', () => {
  let database: ProvisioningTestDatabase;
  let changes: ImportChangesRepository;
  let partnerId: string;
  let scope: JournalScope;
  let orgIds: string[];

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    changes = new ImportChangesRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    scope = await insertImportRun(database.admin, partnerId);
    orgIds = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)];
  });

  /** @returns the id of the changed record */
  async function insert(orgId: string, values: { runId?: string; outcome?: string; reason?: string } = {}) {
    const { runId = scope.runId, outcome = null, reason = null } = values;
    const recordId = randomUUID();
    await database.admin.query(
      `INSERT INTO import_change (run_id, partner_id, org_id, resource, action, record_id, outcome, reason, before)
       VALUES ($1, $2, $3, 'site', 'update', $4, $5, $6, '{"name": "Former"}')`,
      [runId, partnerId, orgId, recordId, outcome, reason],
    );
    return recordId;
  }
  const list = (
    query: { after?: string; limit?: number; outcome?: string } = {},
    as = partnerCaller(partnerId),
    of = scope,
  ) => changes.list(as, of, { after: '0', limit: 100, ...query });
  const records = async (...given: Parameters<typeof list>) => (await list(...given)).map(({ recordId }) => recordId);

  it('returns the changes of one run in their order, without the former values', async () => {
    const kept = await insert(orgIds[0], { outcome: 'kept', reason: 'changed' });
    const open = await insert(orgIds[1]);
    await insert(orgIds[0], { runId: (await insertImportRun(database.admin, partnerId)).runId });
    const change = { seq: expect.any(String), resource: 'site', action: 'update' };
    expect(await list()).toEqual([
      { ...change, recordId: kept, organizationId: orgIds[0], outcome: 'kept', reason: 'changed' },
      { ...change, recordId: open, organizationId: orgIds[1], outcome: null, reason: null },
    ]);
  });

  it('returns the changes after a sequence number, up to the limit', async () => {
    const ids = [await insert(orgIds[0]), await insert(orgIds[0]), await insert(orgIds[0])];
    const [first] = await list({ limit: 1 });
    expect(await records({ after: first.seq, limit: 1 })).toEqual([ids[1]]);
    expect(await records({ after: first.seq })).toEqual(ids.slice(1));
  });

  it('returns the changes with one outcome', async () => {
    await insert(orgIds[0]);
    await insert(orgIds[0], { outcome: 'removed' });
    const kept = await insert(orgIds[0], { outcome: 'kept', reason: 'in_use' });
    expect(await records({ outcome: 'kept' })).toEqual([kept]);
  });

  it('shows a caller the changes of its organizations alone', async () => {
    const [first, second] = [await insert(orgIds[0]), await insert(orgIds[1])];
    expect(await records({}, memberCaller(partnerId, [orgIds[1]]))).toEqual([second]);
    expect(await records({}, memberCaller(partnerId))).toEqual([]);
    expect(await records({}, organizationCaller(partnerId, orgIds[0]))).toEqual([first]);
  });

  it('shows nothing to another partner, nor a run under the id of another partner', async () => {
    await insert(orgIds[0]);
    const stranger = randomUUID();
    expect(await list({}, partnerCaller(stranger))).toEqual([]);
    expect(await list({}, memberCaller(stranger, orgIds))).toEqual([]);
    expect(await list({}, partnerCaller(partnerId), { ...scope, partnerId: stranger })).toEqual([]);
  });
});
