import pg from 'pg';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { UnnamedStatementsClient } from './unnamed-statements-client.js';

describe('UnnamedStatementsClient', () => {
  let stores: Stores;
  let database: TestDatabase;

  beforeAll(async () => {
    stores = await startStores();
    database = await stores.createDatabase([]);
  });
  afterAll(() => stores.stop());

  it('prepares nothing, unlike the client of the direct path', async () => {
    const statement = { name: 'kept', text: 'SELECT $1::int AS one' };
    for (const [Client, expected] of [
      [UnnamedStatementsClient, []],
      [pg.Client, [{ name: 'kept' }]],
    ] as const) {
      const client = new Client({ connectionString: database.adminUrl });
      await client.connect();
      try {
        expect((await client.query({ ...statement, values: [1] })).rows).toEqual([{ one: 1 }]);
        expect((await client.query('SELECT name FROM pg_prepared_statements')).rows).toEqual(expected);
      } finally {
        await client.end();
      }
    }
    expect(statement.name).toBe('kept');
  });
});
