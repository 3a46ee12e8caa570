/**
 * Values of a statement: a list bound as `$1`, `$2`, ..., or an object bound by name as `:name`. Use a list for at most
 * five values. An undefined value is bound as NULL.
 */
export type SqlParams = readonly unknown[] | object;

export interface SqlStatement {
  sql: string;
  params?: SqlParams;
  /** Plans the statement for its values in each call of `readAll`; otherwise one plan may serve all values. */
  planForValues?: boolean;
}

/** Runs SQL statements with bound parameters: a transaction, the worker login, or `tenants.reader(caller)`. */
export interface SqlExecutor {
  /**
   * Runs one statement.
   * @param params values for `$1` or `:name`; they are never put into the text
   * @returns the rows; an empty list for a statement that returns none
   */
  query<Row = Record<string, unknown>>(sql: string, params?: SqlParams): Promise<Row[]>;
}

/** An executor that can run several statements at once; each of ours can. */
export interface BatchExecutor extends SqlExecutor {
  /** Runs several statements on one connection in one round trip. @returns the rows of each, in order */
  queryAll(statements: readonly SqlStatement[]): Promise<Record<string, unknown>[][]>;
}
