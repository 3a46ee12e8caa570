/** About 1 MB: the most that the rows of one page may add up to. */
export const PAGE_BYTES = 1_000_000;

/** Counted for each row in addition to the columns that are measured. */
const ROW_BYTES = 500;

/** Limits the size of a page. A page that reaches the limit ends early; it has at least one row. */
export interface ByteBudget {
  /** The names of the columns of variable size in the result: JSON, free text, arrays. */
  columns: readonly string[];
  /** `PAGE_BYTES` when absent. */
  maxBytes?: number;
}

/** Columns that `limitBytes` adds to each row. */
interface BudgetColumns {
  page_rows?: string;
  bytes_before?: string;
}

/**
 * Returns a statement that ends once the rows reach the budget. The database measures, so that rows beyond the budget are
 * not sent. Stored sizes are summed first, which needs no row to be decompressed: only rows of about one page are then
 * converted to text and measured exactly.
 * @param sql  one SELECT with its ORDER BY and LIMIT
 */
export function limitBytes(sql: string, { columns, maxBytes = PAGE_BYTES }: ByteBudget): string {
  const sum = (bytes: (column: string) => string) => {
    const row = [ROW_BYTES, ...columns.map((column) => `coalesce(${bytes(`p."${column}"`)}, 0)`)].join(' + ');
    return `coalesce(sum(${row}) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)`;
  };
  const stored = `SELECT p.*, count(*) OVER () AS page_rows, ${sum((column) => `pg_column_size(${column})`)} AS stored_before
    FROM (${sql}) p`;
  const exact = `SELECT p.*, ${sum((column) => `octet_length(${column}::text)`)} AS bytes_before
    FROM (${stored}) p WHERE p.stored_before < ${maxBytes}`;
  return `SELECT p.* FROM (${exact}) p WHERE p.bytes_before < ${maxBytes}`;
}

/**
 * Removes the columns of `limitBytes` from the rows, the last one first: V8 keeps the layout of an object from which the
 * last property is deleted, and copies the object otherwise.
 * @returns true when the budget ended the page early
 */
export function takeBudgetColumns(rows: readonly object[]): boolean {
  const all = Number((rows[0] as BudgetColumns | undefined)?.page_rows ?? rows.length);
  for (const row of rows as (BudgetColumns & { stored_before?: string })[]) {
    delete row.bytes_before;
    delete row.stored_before;
    delete row.page_rows;
  }
  return rows.length < all;
}
