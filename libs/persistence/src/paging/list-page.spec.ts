import type { BatchExecutor, SqlStatement } from '../database/sql-executor.js';
import { listPage, MAX_TOTAL } from './list-page.js';

/** Returns a page list whose count has the given result, and the statements it ran. */
async function listCounting(total: number, page = { page: 3, limit: 50 }) {
  const ran: SqlStatement[] = [];
  const executor = {
    queryAll: (statements: SqlStatement[]) => {
      ran.push(...statements);
      return Promise.resolve([[], [{ total }]]);
    },
  } as unknown as BatchExecutor;
  const where = 'status = :status';
  const listed = await listPage(executor, {
    select: 'id',
    from: 'api_key',
    where,
    params: { status: 'active' },
    page,
  });
  return { page: listed, ran };
}

describe('listPage', () => {
  it('returns the exact total up to 10,000 rows', async () => {
    expect((await listCounting(MAX_TOTAL)).page).toEqual({ rows: [], total: 10_000 });
  });

  it('caps the total of more rows and says so', async () => {
    expect((await listCounting(MAX_TOTAL + 1)).page).toEqual({ rows: [], total: 10_000, totalCapped: true });
  });

  it('stops counting after one row more than the cap', async () => {
    const { ran } = await listCounting(0);
    expect(ran[1]).toEqual({
      sql: 'SELECT count(*)::int AS total FROM (SELECT 1 FROM api_key WHERE status = :status LIMIT 10001) matching',
      params: { status: 'active' },
    });
    expect(ran[0].params).toEqual({ status: 'active', limit: 50, offset: 100 });
  });

  it('has the limit of a request that names none in its text, and any other as a parameter', async () => {
    const rowsOf = async (limit: number) => (await listCounting(0, { page: 1, limit })).ran[0];
    const rows = 'SELECT id FROM api_key WHERE status = :status ORDER BY created_at DESC, id DESC';
    expect(await rowsOf(50)).toMatchObject({ sql: `${rows} LIMIT 50`, params: { status: 'active' } });
    const params = { status: 'active', limit: 51, offset: 0 };
    expect(await rowsOf(51)).toMatchObject({ sql: `${rows} LIMIT :limit OFFSET :offset`, params });
  });
});
