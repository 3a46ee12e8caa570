import { CURSOR_LISTS } from './generated/cursor-lists.js';
import type { ApiPath, ResponseBody } from './operations.js';

interface Pagination {
  page?: number;
  limit?: number;
  total?: number;
  totalCapped?: boolean;
  truncated?: boolean;
  nextCursor?: string | null;
}

interface Page {
  data: unknown[];
  pagination: Pagination;
}

/** The lists: GET operations whose response has `data` and `pagination`. */
export type ListPath = {
  [Path in ApiPath<'get'>]: ResponseBody<'get', Path> extends { data: unknown[]; pagination: object } ? Path : never;
}[ApiPath<'get'>];

export type ListRecord<Path extends ListPath> =
  ResponseBody<'get', Path> extends { data: (infer Item)[] } ? Item : never;

type Query = Readonly<Record<string, unknown>>;

/** Reads all pages of a list: by cursor where the list has one and the query names no page, else by number. */
export async function* listRecords(
  path: string,
  read: (query: Query) => Promise<unknown>,
  first: Query = {},
): AsyncGenerator {
  let query = CURSOR_LISTS.has(path) && first['page'] === undefined ? { cursor: '', ...first } : first;
  for (;;) {
    const { data, pagination } = (await read(query)) as Page;
    yield* data;
    const next = nextOf(data.length, pagination);
    if (next === null) return;
    if (next.cursor !== undefined && next.cursor === query.cursor) throw new Error('The cursor does not advance');
    query = { ...query, ...next };
  }
}

/** Returns the parameters of the next page; null after the last one. */
function nextOf(count: number, pagination: Pagination): { page?: number; limit?: number; cursor?: string } | null {
  if ('nextCursor' in pagination) return pagination.nextCursor ? { cursor: pagination.nextCursor } : null;
  const { page = 1, limit = count, total = 0, totalCapped, truncated } = pagination;
  if (count === 0) return null;
  const read = (page - 1) * limit + count;
  if (!truncated)
    return totalCapped ? (count < limit ? null : { page: page + 1 }) : read < total ? { page: page + 1 } : null;
  if (!totalCapped && read >= total) return null;
  const smaller = largestDivisor(read, count);
  return { page: read / smaller + 1, limit: smaller };
}

/** Returns the largest page size of at most `max` with which a page begins after `read` records. */
function largestDivisor(read: number, max: number): number {
  let divisor = Math.max(1, max);
  while (read % divisor !== 0) divisor -= 1;
  return divisor;
}
