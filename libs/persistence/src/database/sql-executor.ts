/** Anything that runs one SQL statement with bound parameters: a transaction of either door, or a reader. */
export interface SqlExecutor {
  /**
   * @param params bound as $1, $2, ...; they are never put into the text
   * @returns the rows; an empty list for a statement that returns none
   */
  query<Row = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
}
