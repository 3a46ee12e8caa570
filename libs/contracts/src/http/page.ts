/** A list answer. @see CONTRACT.md 1.2 */
export interface Page<T> {
  data: T[];
  pagination: { page: number; limit: number; total: number };
}

/** A keyset list answer. */
export interface KeysetPage<T> {
  data: T[];
  pagination: { nextCursor: string | null; limit: number; total?: number };
}
