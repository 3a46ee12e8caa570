import type { BatchExecutor, SqlStatement } from '../database/sql-executor.js';
import { listPage, MAX_TOTAL } from './list-page.js';

/** Returns a page list whose count has the given result, and the statements it ran. */
async function listCounting(total: number) {
  const ran: SqlStatement[] = [];
  const executor = {
    queryAll: (statements: SqlStatement[]) => {
      ran.push(...statements);
      return Promise.resolve([[], [{ total }]]);
    },
  } as unknown as BatchExecutor;
  const where = 'status = :status';
  const page = await listPage(executor, {
    select: 'id',
    from: 'api_key',
    where,
    params: { status: 'active' },
    page: { page: 3, limit: 50 },
  });
  return { page, ran };
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
});
