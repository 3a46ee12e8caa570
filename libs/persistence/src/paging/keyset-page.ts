import type { BatchExecutor, SqlStatement } from '../database/sql-executor.js';
import { limitBytes, takeBudgetColumns, type ByteBudget } from './byte-budget.js';
import type { CursorBinding, Cursors } from './cursors.js';

export interface SortKey {
  /** An SQL expression that is never null: `d.created_at`. Constant text, not from the request. */
  expression: string;
  type: 'timestamptz' | 'uuid' | 'text' | 'bigint' | 'integer';
  /** True for a column of a joined table. */
  joined?: boolean;
}

export interface KeysetQuery extends Pick<SqlStatement, 'planForValues'> {
  /** The columns, as after SELECT. */
  select: string;
  /** The text after FROM. */
  from: string;
  /** The filters, as after WHERE; all rows when absent. */
  where?: string;
  /** Values of the `:name` placeholders of the texts. */
  params?: object;
  /** Unique together, so the last one is an id. With an index on exactly these every page costs the same. */
  sort: readonly SortKey[];
  direction: 'asc' | 'desc';
  limit: number;
  cursor?: string | null;
  /** Ends the page early when its rows get too large; the next cursor continues after its last row. */
  budget?: ByteBudget;
}

export interface KeysetRows<Row> {
  rows: Row[];
  /** null on the last page. */
  nextCursor: string | null;
}

/**
 * Reads one page after a cursor, in one statement at any depth. Positions are PostgreSQL's own text, so timestamps keep
 * their microseconds and no row is skipped or shown twice.
 * @throws InvalidCursor
 */
export async function keysetPage<Row extends object>(
  executor: Pick<BatchExecutor, 'queryAll'>,
  cursors: Cursors,
  binding: CursorBinding,
  query: KeysetQuery,
): Promise<KeysetRows<Row>> {
  const order = describeOrder(query);
  const position = query.cursor ? cursors.decode(query.cursor, binding, order) : null;
  const sql = buildText(query, position !== null);
  const after = position && Object.fromEntries(position.map((value, i) => [`after_${i}`, value]));
  const params = { ...query.params, ...after, limit: query.limit + 1 };
  const [rows = []] = await executor.queryAll([{ sql, params, planForValues: query.planForValues }]);
  const found = rows as (Row & { keyset_position: string[] })[];
  const truncated = query.budget !== undefined && takeBudgetColumns(found);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const hasMore = truncated || found.length > query.limit;
  const nextCursor = hasMore && last ? cursors.encode(last.keyset_position, binding, order) : null;
  return { rows: page.map(withoutPosition), nextCursor };
}

function buildText({ select, from, where, sort, direction, budget }: KeysetQuery, afterCursor: boolean): string {
  const expressions = sort.map((key) => key.expression);
  const bound = sort.map((key, i) => `:after_${i}::${key.type}`).join(', ');
  const operator = direction === 'desc' ? '<' : '>';
  const after = afterCursor
    ? `AND (${expressions.join(', ')}) ${operator} (${bound}) ${boundOfJoined(sort, operator)}`
    : '';
  const text =
    `SELECT ${select}, ARRAY[${expressions.map((e) => `(${e})::text`).join(', ')}] AS keyset_position ` +
    `FROM ${from} WHERE (${where ?? 'true'}) ${after} ` +
    `ORDER BY ${expressions.map((e) => `${e} ${direction}`).join(', ')} LIMIT :limit::integer`;
  return budget ? limitBytes(text, budget) : text;
}

/**
 * Repeats the position for the first column when it is of a joined table: a comparison with columns of two tables, or of
 * several columns under row-level security, is no condition of an index, and a page would read all rows before it.
 */
function boundOfJoined([first]: readonly SortKey[], operator: '<' | '>'): string {
  return first?.joined === true ? `AND ${first.expression} ${operator}= :after_0::${first.type}` : '';
}

function describeOrder({ sort, direction }: KeysetQuery): string {
  return `${sort.map((key) => key.expression).join(',')} ${direction}`;
}

function withoutPosition<Row extends object>(row: Row & { keyset_position?: string[] }): Row {
  delete row.keyset_position;
  return row;
}
