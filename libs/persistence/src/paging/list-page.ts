import { compileNamedParameters } from '../database/named-parameters.js';
import type { BatchExecutor, SqlStatement } from '../database/sql-executor.js';
import { limitBytes, takeBudgetColumns, type ByteBudget } from './byte-budget.js';

/** Totals are counted up to this number: counting more would read as many rows for a page of 50. */
export const MAX_TOTAL = 10_000;

/**
 * The limit of a request that names none, as in `PageQueryDto`. The statement of its first page contains the number: for a
 * parameter, a plan that a connection keeps would expect a tenth of the rows and cost more than a new plan for each request.
 */
const USUAL_LIMIT = 50;

/** The page a client asked for, as PageQueryDto validates it; pages start at 1. */
export interface PageRequest {
  page: number;
  limit: number;
}

/** The rows of one page and how many rows all pages have. */
export interface PageRows<Row> {
  rows: Row[];
  /** At most `MAX_TOTAL`. */
  total: number;
  /** True when there are more rows than `total`. */
  totalCapped?: true;
  /** True when the byte budget ended the page early: the rest of its rows is missing. */
  truncated?: true;
}

export interface PageListQuery {
  /** The columns, as after SELECT. */
  select: string;
  /** The text after FROM. */
  from: string;
  /** The text after WHERE; all rows when absent. */
  where?: string;
  /** Values of the `:name` placeholders of the texts. */
  params?: object;
  /** The text after ORDER BY, unique to the row; newest first when absent. */
  orderBy?: string;
  page: PageRequest;
  /** Ends the page early when its rows get too large. */
  budget?: ByteBudget;
}

/** Lists one page and the total of all pages, in one round trip on one connection. */
export async function listPage<Row>(
  executor: BatchExecutor,
  { select, from, where, params, orderBy = 'created_at DESC, id DESC', page, budget }: PageListQuery,
): Promise<PageRows<Row>> {
  const matching = `FROM ${from} WHERE ${where ?? 'true'}`;
  return runPageStatements(
    executor,
    { rows: `SELECT ${select} ${matching} ORDER BY ${orderBy}`, matching: `SELECT 1 ${matching}` },
    params ?? {},
    page,
    { budget },
  );
}

/** Runs the two statements of a page list. `matching` returns a row for each one of the list; neither has a LIMIT. */
export async function runPageStatements<Row>(
  executor: BatchExecutor,
  { rows, matching }: { rows: string; matching: string },
  params: object,
  { page, limit }: PageRequest,
  { budget, planForValues }: { budget?: ByteBudget } & Pick<SqlStatement, 'planForValues'> = {},
): Promise<PageRows<Row>> {
  const count = countText(matching);
  const [range, rangeParams] =
    page === 1 && limit === USUAL_LIMIT
      ? [`LIMIT ${USUAL_LIMIT}`, {}]
      : ['LIMIT :limit OFFSET :offset', { limit, offset: (page - 1) * limit }];
  const limited = `${rows} ${range}`;
  const [found = [], [counted] = []] = await executor.queryAll([
    {
      sql: budget ? limitBytes(limited, budget) : limited,
      params: { ...params, ...rangeParams },
      planForValues,
    },
    { sql: count, params: usedBy(count, params), planForValues },
  ]);
  const truncated = budget !== undefined && takeBudgetColumns(found);
  return {
    rows: found as Row[],
    ...cappedTotal(Number(counted?.['total'] ?? 0)),
    ...(truncated && { truncated }),
  };
}

/** Counts up to `MAX_TOTAL` rows. @param matching  a SELECT without LIMIT */
export async function countMatching(
  executor: BatchExecutor,
  matching: string,
  params: object,
  { planForValues }: Pick<SqlStatement, 'planForValues'> = {},
): Promise<Omit<PageRows<never>, 'rows'>> {
  const sql = countText(matching);
  const [[counted] = []] = await executor.queryAll([{ sql, params: usedBy(sql, params), planForValues }]);
  return cappedTotal(Number(counted?.['total'] ?? 0));
}

const countText = (matching: string) =>
  `SELECT count(*)::int AS total FROM (${matching} LIMIT ${MAX_TOTAL + 1}) matching`;

/** Returns the total to show for a count that ended after `MAX_TOTAL + 1` rows. */
export function cappedTotal(counted: number): Pick<PageRows<unknown>, 'total' | 'totalCapped'> {
  return counted > MAX_TOTAL ? { total: MAX_TOTAL, totalCapped: true } : { total: counted };
}

/** Returns the parameters that the text names: the count needs those of its filters only. */
function usedBy(sql: string, params: object): object {
  const { names } = compileNamedParameters(sql);
  return Object.fromEntries(Object.entries(params).filter(([name]) => names.includes(name)));
}
