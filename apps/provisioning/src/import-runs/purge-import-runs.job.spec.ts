import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { ImportRunsRepository } from './import-runs.repository.js';
import { PurgeImportRunsJob } from './purge-import-runs.job.js';

describe('PurgeImportRunsJob', () => {
  let database: ProvisioningTestDatabase;
  let job: PurgeImportRunsJob;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    job = new PurgeImportRunsJob(new ImportRunsRepository(database.tenants, TEST_SECRETS, database.worker));
  });
  afterAll(() => database?.stop());

  interface Given {
    state?: string;
    source?: string;
    /** Age of the last change. */
    updated: string;
    /** Age of the commit; null without one. */
    committed?: string | null;
  }

  /** Stores a run with two rows, one change and one part of its file. */
  async function createRun({ state = 'completed', source = 'file', updated, committed = updated }: Given) {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const { rows } = await database.admin.query<{ id: string }>(
      `INSERT INTO import_run (partner_id, kind, source, state, updated_at, committed_at)
       VALUES ($1, 'organizations', $2, $3, now() - $4::interval, now() - $5::interval) RETURNING id`,
      [partnerId, source, state, updated, committed],
    );
    const id = rows[0].id;
    await database.admin.query(
      `INSERT INTO import_run_row (run_id, partner_id, index, line, cells)
       SELECT $1, $2, n, n + 2, '[]' FROM generate_series(0, 1) n`,
      [id, partnerId],
    );
    await database.admin.query(
      `INSERT INTO import_change (run_id, partner_id, org_id, resource, action, record_id)
       VALUES ($1, $2, $3, 'organization', 'create', $3)`,
      [id, partnerId, orgId],
    );
    await database.admin.query(
      `INSERT INTO import_file_chunk (run_id, partner_id, part, bytes, created_at)
       VALUES ($1, $2, 0, 'x', now() - $3::interval)`,
      [id, partnerId, updated],
    );
    return id;
  }

  /** Returns the parts of a run that are stored. */
  async function partsOf(id: string): Promise<string[]> {
    const { rows } = await database.admin.query<{ part: string }>(
      `SELECT 'run' AS part FROM import_run WHERE id = $1
       UNION SELECT 'rows' FROM import_run_row WHERE run_id = $1
       UNION SELECT 'changes' FROM import_change WHERE run_id = $1
       UNION SELECT 'file' FROM import_file_chunk WHERE run_id = $1`,
      [id],
    );
    return rows.map(({ part }) => part).sort();
  }

  it.each<[string, Given, string[]]>([
    ['everything of a run within its first day', { updated: '23 hours' }, ['changes', 'file', 'rows', 'run']],
    ['the journal of a run for 72 hours', { updated: '71 hours' }, ['changes', 'rows', 'run']],
    ['no journal after 72 hours', { updated: '73 hours' }, ['rows', 'run']],
    [
      'the journal of a late undo for a day',
      { updated: '23 hours', committed: '90 hours', state: 'undone' },
      ['changes', 'file', 'rows', 'run'],
    ],
    ['the journal while it is undone', { updated: '80 hours', state: 'undoing' }, ['changes', 'rows', 'run']],
    [
      'the rows of a preview for 7 days',
      { updated: '167 hours', committed: null, state: 'ready' },
      ['changes', 'rows', 'run'],
    ],
    ['no rows after 7 days', { updated: '169 hours' }, ['run']],
    [
      'all rows while they are committed',
      { updated: '200 hours', committed: null, state: 'committing' },
      ['changes', 'rows', 'run'],
    ],
    [
      'the file while it is parsed',
      { updated: '48 hours', committed: null, state: 'parsing' },
      ['changes', 'file', 'rows', 'run'],
    ],
    ['a run for 90 days', { updated: '89 days' }, ['run']],
    ['no run after 90 days', { updated: '91 days' }, []],
    ['an active run always', { updated: '91 days', committed: null, state: 'annotating' }, ['changes', 'rows', 'run']],
  ])('keeps %s', async (_, given, expected) => {
    const id = await createRun(given);
    await job.run();
    expect(await partsOf(id)).toEqual(expected);
  });

  it('deletes the parts of all expired runs in one execution', async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => createRun({ updated: '200 hours' })));
    await job.run();
    expect(await Promise.all(ids.map(partsOf))).toEqual(ids.map(() => ['run']));
  });

  it('stops after a number of batches, so that one execution ends', async () => {
    let batches = 0;
    const runs = { purge: () => Promise.resolve((batches += 1)) } as unknown as ImportRunsRepository;
    await new PurgeImportRunsJob(runs).run();
    expect(batches).toBe(200);
  });
});
