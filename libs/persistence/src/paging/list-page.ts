import { compileNamedParameters } from '../database/named-parameters.js';
import type { BatchExecutor } from '../database/sql-executor.js';
import { limitBytes, takeBudgetColumns, type ByteBudget } from './byte-budget.js';

/** The page a client asked for, as PageQueryDto validates it; pages start at 1. */
export interface PageRequest {
  page: number;
  limit: number;
}

/** The rows of one page and how many rows all pages have. */
export interface PageRows<Row> {
  rows: Row[];
  total: number;
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
    { rows: `SELECT ${select} ${matching} ORDER BY ${orderBy}`, count: `SELECT count(*)::int AS total ${matching}` },
    params ?? {},
    page,
    budget,
  );
}

/** Runs the two statements of a page list. `rows` has no LIMIT yet; `count` returns one column `total`. */
export async function runPageStatements<Row>(
  executor: BatchExecutor,
  { rows, count }: { rows: string; count: string },
  params: object,
  { page, limit }: PageRequest,
  budget?: ByteBudget,
): Promise<PageRows<Row>> {
  const limited = `${rows} LIMIT :limit OFFSET :offset`;
  const [found = [], [counted] = []] = await executor.queryAll([
    {
      sql: budget ? limitBytes(limited, budget) : limited,
      params: { ...params, limit, offset: (page - 1) * limit },
    },
    { sql: count, params: usedBy(count, params) },
  ]);
  const truncated = budget !== undefined && takeBudgetColumns(found);
  return { rows: found as Row[], total: Number(counted?.['total'] ?? 0), ...(truncated && { truncated }) };
}

/** Returns the parameters that the text names: the count needs those of its filters only. */
function usedBy(sql: string, params: object): object {
  const { names } = compileNamedParameters(sql);
  return Object.fromEntries(Object.entries(params).filter(([name]) => names.includes(name)));
}
