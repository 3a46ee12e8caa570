import { randomUUID } from 'node:crypto';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { IdentityTestApp } from '../../test/identity-test-app.js';
import { SEALED_COLUMNS, SealedColumnsRepository, type SealedColumn } from './sealed-columns.repository.js';

const TOTP = SEALED_COLUMNS.find(({ table }) => table === 'totp_factor') as SealedColumn;
const OUTDATED = 'v1.old.text';

describe('SealedColumnsRepository', () => {
  let testApp: IdentityTestApp;
  let repository: SealedColumnsRepository;
  let worker: WorkerDatabase;
  let ids: string[];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    const identity = await testApp.startReplica();
    repository = identity.app.get(SealedColumnsRepository, { strict: false });
    worker = identity.app.get(WorkerDatabase);
  }, 120_000);
  afterAll(() => testApp.stop());
  beforeEach(async () => {
    await testApp.query('delete from totp_factor');
    ids = Array.from({ length: 3 }, () => randomUUID()).sort();
    await testApp.query(
      `with users as (
         insert into user_account (id, email, name) select id, id || '@users.test', 'Sealed' from unnest($1::uuid[]) id)
       insert into totp_factor (user_id, secret_sealed) select id, $2 from unnest($1::uuid[]) id`,
      [ids, OUTDATED],
    );
  });

  const run = <T>(work: (tx: WorkerTransaction) => Promise<T>) => worker.transaction(work);
  const lock = (tx: WorkerTransaction, after: string | null, limit = 10) =>
    repository.lockOutdated(tx, TOTP, 'new', after, limit);
  const idsOf = (texts: { id: string }[]) => texts.map(({ id }) => id);

  it('names every table with a sealed column', async () => {
    const rows = await testApp.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns
       where table_schema = 'identity' and column_name like '%\\_sealed' order by 1`,
    );
    const named = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort();
    expect(named).toEqual(rows.map(({ name }) => name));
  });

  it('returns texts of other keys in the order of their ids, in batches', async () => {
    await testApp.query(`update totp_factor set secret_sealed = 'v1.new.text' where user_id = $1`, [ids[1]]);
    expect(await run((tx) => lock(tx, null))).toEqual([
      { id: ids[0], sealed: OUTDATED },
      { id: ids[2], sealed: OUTDATED },
    ]);
    expect(idsOf(await run((tx) => lock(tx, null, 1)))).toEqual([ids[0]]);
    expect(idsOf(await run((tx) => lock(tx, ids[0] ?? null)))).toEqual([ids[2]]);
  });

  it('leaves texts that another transaction has locked', async () => {
    await run(async (tx) => {
      expect(idsOf(await lock(tx, null, 1))).toEqual([ids[0]]);
      // A second connection of the same pool is refused in a transaction, so another login looks.
      const free = await testApp.query<{ id: string }>(
        'select user_id as id from totp_factor order by user_id for update skip locked',
      );
      expect(idsOf(free)).toEqual(ids.slice(1));
    });
  });

  it('replaces the given texts alone', async () => {
    const texts = [
      { id: ids[0] ?? '', sealed: 'v1.new.a' },
      { id: ids[2] ?? '', sealed: 'v1.new.c' },
    ];
    await run((tx) => repository.replace(tx, TOTP, texts));
    const stored = await testApp.query('select secret_sealed as sealed from totp_factor order by user_id');
    expect(stored).toEqual([{ sealed: 'v1.new.a' }, { sealed: OUTDATED }, { sealed: 'v1.new.c' }]);
  });
});
