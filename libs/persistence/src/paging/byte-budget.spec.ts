import { noTenant, PersistenceTestDatabase } from '../../test/persistence-test-database.js';
import { limitBytes, takeBudgetColumns, type ByteBudget } from './byte-budget.js';
import { Cursors } from './cursors.js';
import { keysetPage } from './keyset-page.js';
import { listPage } from './list-page.js';

describe('a byte budget', () => {
  let fleet: PersistenceTestDatabase;
  const cursors = new Cursors('k'.repeat(32));
  const binding = { caller: noTenant, list: 'documents', filters: {} };
  const documents = (count: number, length: number, text = "repeat('x', :length)") => ({
    select: 'n, document',
    from: `(SELECT n, jsonb_build_object('text', ${text}) AS document FROM generate_series(1, :count::integer) n) d`,
    params: { count, length },
  });
  const list = (budget: ByteBudget | undefined, count: number, length: number) =>
    listPage<{ n: number }>(fleet.tenants.reader(noTenant), {
      ...documents(count, length),
      orderBy: 'n',
      page: { page: 1, limit: 100 },
      budget,
    });

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start();
  });
  afterAll(() => fleet.stop());

  it('ends a page once its rows reach the budget and says so', async () => {
    const page = await list({ columns: ['document'], maxBytes: 10_000 }, 50, 1_000);
    expect(page.rows.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(page).toMatchObject({ total: 50, truncated: true });
    expect(Object.keys(page.rows[0])).toEqual(['n', 'document']);
  });

  it('leaves a page below the budget as it is', async () => {
    const page = await list({ columns: ['document'] }, 50, 1_000);
    expect(page.rows).toHaveLength(50);
    expect(page).not.toHaveProperty('truncated');
    expect((await list({ columns: ['document'] }, 0, 1)).rows).toEqual([]);
  });

  it('returns at least one row, however large it is', async () => {
    expect((await list({ columns: ['document'], maxBytes: 100 }, 5, 100_000)).rows).toHaveLength(1);
  });

  it('continues after the last row of a page that ended early', async () => {
    const seen: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: { rows: { n: number }[]; nextCursor: string | null } = await keysetPage(
        fleet.tenants.reader(noTenant),
        cursors,
        binding,
        {
          ...documents(50, 1_000),
          sort: [{ expression: 'n', type: 'integer' }],
          direction: 'asc',
          limit: 10,
          cursor,
          budget: { columns: ['document'], maxBytes: 6_000 },
        },
      );
      expect(page.rows.length).toBeLessThanOrEqual(5);
      seen.push(...page.rows.map(({ n }) => n));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  });

  it('counts text in bytes and null as nothing', async () => {
    const sql = limitBytes(
      `SELECT n, CASE WHEN n > 1 THEN repeat('ü', 1000) END AS note FROM generate_series(1, 9) n ORDER BY n LIMIT 9`,
      { columns: ['note'], maxBytes: 5_000 },
    );
    const rows = await fleet.worker.query(sql);
    expect(rows).toHaveLength(3);
    expect(takeBudgetColumns(rows)).toBe(true);
  });
});
