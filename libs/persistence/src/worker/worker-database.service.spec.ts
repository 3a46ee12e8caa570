import { RequestDeadline, RequestExpired, runInContext } from '@rmm/service-kit';
import { PersistenceTestDatabase, orgA1, partnerA } from '../../test/persistence-test-database.js';

describe('WorkerDatabase', () => {
  let fleet: PersistenceTestDatabase;

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start({ serviceMax: 1, workerMax: 1 });
  });
  afterAll(() => fleet.stop());

  it('reads the rows of all tenants', async () => {
    const rows = await fleet.worker.query('select name from device order by name');
    expect(rows).toEqual([{ name: 'a1' }, { name: 'a2' }, { name: 'b1' }]);
  });

  it('refuses commands that its login was not granted', async () => {
    await expect(fleet.worker.query('delete from device')).rejects.toThrow('permission denied');
    await expect(fleet.worker.query('select * from principal')).rejects.toThrow('permission denied');
  });

  it('binds named parameters', async () => {
    const sql = 'select name from device where partner_id = :partnerId and org_id = :orgId';
    expect(await fleet.worker.query(sql, { orgId: orgA1, partnerId: partnerA })).toEqual([{ name: 'a1' }]);
  });

  it('runs several statements in one round trip and returns the rows of each', async () => {
    const results = await fleet.worker.queryAll([
      { sql: 'select 1 as n' },
      { sql: 'select :text::text as text', params: { text: 'a' } },
    ]);
    expect(results).toEqual([[{ n: 1 }], [{ text: 'a' }]]);
  });

  it('commits a transaction, and undoes one whose work rejects', async () => {
    const insert = `insert into vendor (name) values (:name)`;
    await fleet.worker.transaction((tx) => tx.query(insert, { name: 'kept' }));
    const failing = fleet.worker.transaction(async (tx) => {
      await tx.query(insert, { name: 'undone' });
      throw new Error('stop');
    });
    await expect(failing).rejects.toThrow('stop');
    expect(await fleet.worker.query('select name from vendor')).toEqual([{ name: 'kept' }]);
  });

  it('runs statements in one transaction, and undoes all of them when one fails', async () => {
    const insert = (name: string) => ({ sql: `insert into vendor (name) values (:name)`, params: { name } });
    const count = { sql: `select count(*)::int as n from vendor where name like '% together'` };
    expect(await fleet.worker.queryAllInTransaction([insert('kept together'), count])).toEqual([[], [{ n: 1 }]]);
    const failing = fleet.worker.queryAllInTransaction([insert('undone together'), { sql: 'select 1 / 0' }, count]);
    await expect(failing).rejects.toThrow('division by zero');
    expect(await fleet.worker.query(count.sql)).toEqual([{ n: 1 }]);
  });

  it('runs no transaction for a request whose time limit has passed', async () => {
    const deadline = new RequestDeadline(1);
    deadline.expire();
    const insert = { sql: `insert into vendor (name) values ('late')` };
    const late = runInContext({ requestId: 'late', deadline }, () => fleet.worker.queryAllInTransaction([insert]));
    await expect(late).rejects.toThrow(RequestExpired);
    expect(await fleet.worker.query(`select name from vendor where name = 'late'`)).toEqual([]);
  });

  it('refuses a second connection inside a transaction', async () => {
    await expect(fleet.worker.transaction(() => fleet.worker.query('select 1'))).rejects.toThrow('transaction');
  });
});
