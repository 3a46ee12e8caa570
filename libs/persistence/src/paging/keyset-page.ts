import type { SqlExecutor } from '../database/sql-executor.js';
import type { CursorBinding, Cursors } from './cursors.js';

export interface SortKey {
  /** An SQL expression, never null: `d.created_at`. Constant text, not from the request. */
  expression: string;
  type: 'timestamptz' | 'uuid' | 'text' | 'bigint' | 'integer';
}

export interface KeysetQuery {
  /** The columns, as after SELECT. */
  select: string;
  /** What follows FROM. */
  from: string;
  /** Filters, as after WHERE; `true` when absent. */
  where?: string;
  params?: readonly unknown[];
  /** Together unique, so the last one is an id. An index on just these makes every page cost the same. */
  sort: readonly SortKey[];
  direction: 'asc' | 'desc';
  limit: number;
  cursor?: string | null;
}

export interface KeysetRows<Row> {
  rows: Row[];
  /** null on the last page. */
  nextCursor: string | null;
}

/**
 * One page after a cursor, in one statement whatever the depth. Positions travel as PostgreSQL's own text, so that
 * timestamps keep their microseconds and no row is skipped or shown twice.
 * @throws InvalidCursor
 */
export async function keysetPage<Row extends object>(
  executor: SqlExecutor,
  cursors: Cursors,
  binding: CursorBinding,
  query: KeysetQuery,
): Promise<KeysetRows<Row>> {
  const order = describe(query);
  const position = query.cursor ? cursors.decode(query.cursor, binding, order) : null;
  const found = await executor.query<Row & { keyset_position: string[] }>(textOf(query, position !== null), [
    ...(query.params ?? []),
    ...(position ?? []),
    query.limit + 1,
  ]);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const nextCursor = found.length > query.limit && last ? cursors.encode(last.keyset_position, binding, order) : null;
  return { rows: page.map(withoutPosition), nextCursor };
}

function textOf({ select, from, where, params, sort, direction }: KeysetQuery, after: boolean): string {
  const expressions = sort.map((key) => key.expression);
  let parameter = params?.length ?? 0;
  const bound = after ? sort.map((key) => `$${++parameter}::${key.type}`).join(', ') : '';
  const beyond = after ? `and (${expressions.join(', ')}) ${direction === 'desc' ? '<' : '>'} (${bound})` : '';
  return (
    `select ${select}, array[${expressions.map((e) => `(${e})::text`).join(', ')}] as keyset_position ` +
    `from ${from} where (${where ?? 'true'}) ${beyond} ` +
    `order by ${expressions.map((e) => `${e} ${direction}`).join(', ')} limit $${++parameter}::integer`
  );
}

function describe({ sort, direction }: KeysetQuery): string {
  return `${sort.map((key) => key.expression).join(',')} ${direction}`;
}

function withoutPosition<Row extends object>(row: Row & { keyset_position?: string[] }): Row {
  delete row.keyset_position;
  return row;
}
