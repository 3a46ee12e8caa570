import type { WorkerTransaction } from '@rmm/persistence';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import { SEALED_TABLES, type SealedTexts, SealedWebhooksRepository } from './sealed-webhooks.repository.js';

describe('SealedWebhooksRepository', () => {
  const repository = new SealedWebhooksRepository();
  let database: DispatcherTestDatabase;
  let ids: string[];

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
  }, 120_000);
  afterAll(() => database?.stop());
  beforeEach(async () => {
    await database.rows('DELETE FROM webhook_counter');
    await database.rows('DELETE FROM webhook');
    const organization = await database.organization();
    ids = (await Promise.all([1, 2, 3].map(() => database.webhook(organization)))).sort();
    await database.rows(`UPDATE webhook SET url_sealed = 'v1.new.text'`);
  });

  const run = <T>(work: (tx: WorkerTransaction) => Promise<T>) => database.worker.transaction(work);
  const lock = (tx: WorkerTransaction, after: string | null = null, limit = 10) =>
    repository.lockOutdated(tx, 'webhook', 'new', after, limit);
  const idsOf = (rows: readonly SealedTexts[]) => rows.map(({ id }) => id);

  it('names every table with sealed columns', async () => {
    const rows = await database.rows<{ name: string }>(
      `SELECT DISTINCT table_name AS name FROM information_schema.columns
       WHERE table_schema = 'webhook_dispatcher' AND (column_name LIKE '%\\_sealed' OR column_name = 'headers')`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual([...SEALED_TABLES].sort());
  });

  it.each([
    [`url_sealed = 'v1.old.text'`],
    [`secret_sealed = 'v1.old.text'`],
    [`previous_secret_sealed = 'v1.old.text', secret_overlap_until = now()`],
    [`headers = '[{"key": "A", "value": "v1.new.text"}, {"key": "B", "value": "v1.old.text"}]'`],
  ])('finds a webhook with %s', async (change) => {
    expect(await run((tx) => lock(tx))).toEqual([]);
    await database.rows(`UPDATE webhook SET ${change} WHERE id = $1`, [ids[1]]);
    expect(idsOf(await run((tx) => lock(tx)))).toEqual([ids[1]]);
  });

  it('returns batches in the order of ids, and leaves rows that another transaction has locked', async () => {
    await database.rows(`UPDATE webhook SET url_sealed = 'v1.old.text'`);
    expect(idsOf(await run((tx) => lock(tx, null, 2)))).toEqual(ids.slice(0, 2));
    expect(idsOf(await run((tx) => lock(tx, ids[0])))).toEqual(ids.slice(1));
    await run(async (tx) => {
      expect(idsOf(await lock(tx, null, 1))).toEqual([ids[0]]);
      const free = await database.rows<{ id: string }>('SELECT id FROM webhook ORDER BY id FOR UPDATE SKIP LOCKED');
      expect(free.map(({ id }) => id)).toEqual(ids.slice(1));
    });
  });

  it('replaces the texts of the given rows alone', async () => {
    const headers = [{ key: 'A', value: 'v1.new.c' }];
    const webhookId = ids[0] ?? '';
    const texts = { id: webhookId, webhookId, urlSealed: 'v1.new.a', secretSealed: 'v1.new.b', headers };
    await run((tx) => repository.replace(tx, 'webhook', [{ ...texts, previousSecretSealed: null }]));
    const rows = await database.rows('SELECT url_sealed, secret_sealed, headers FROM webhook ORDER BY id');
    const untouched = { url_sealed: 'v1.new.text', secret_sealed: null, headers: [] };
    expect(rows).toEqual([{ url_sealed: 'v1.new.a', secret_sealed: 'v1.new.b', headers }, untouched, untouched]);
  });
});
