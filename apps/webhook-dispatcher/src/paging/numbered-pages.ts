import type { PageRows } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';

/** A request for the page after a cursor. */
export interface CursorRequest {
  /** Empty for the first page. */
  cursor: string;
  limit: number;
}

/** Returns the number of rows before a page. */
export const offsetOf = ({ page, limit }: { page: number; limit: number }): number => (page - 1) * limit;

/**
 * Returns the page behind the rows that were counted, which is empty.
 * @throws ValidationError  when there are more rows: a numbered page reads all rows before it, of which there may be millions
 */
export function pageBehind(counted: Omit<PageRows<never>, 'rows'>): PageRows<never> {
  if (!counted.totalCapped) return { rows: [], ...counted };
  throw ValidationError.forField('page', 'must begin within the first 10,000 records; `cursor` reads those after them');
}
