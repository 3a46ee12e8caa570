import type { Page } from '@rmm/contracts';

/** The body of a list answer. @see CONTRACT.md 1.2 */
export function pageOf<T>(page: number, limit: number, total: number, rows: T[]): Page<T> {
  return { data: rows, pagination: { page, limit, total } };
}
