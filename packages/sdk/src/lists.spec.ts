import { listRecords } from './lists.js';

type Query = Readonly<Record<string, unknown>>;

/** A list that is read by number. */
const NUMBERED = '/webhooks';

async function collect(read: (query: Query) => unknown, first?: Query, path = NUMBERED): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const record of listRecords(path, (query) => Promise.resolve(read(query)), first)) records.push(record);
  return records;
}

/** A list of numbers that is paged by number; a page ends after `cut` records at the latest. */
function numbered(total: number, { cut = Infinity, cap = Infinity } = {}) {
  const queries: Query[] = [];
  const read = (query: Query) => {
    queries.push(query);
    const { page = 1, limit = 5 } = query as { page?: number; limit?: number };
    const rest = Array.from({ length: total }, (_, i) => i).slice((page - 1) * limit, page * limit);
    const data = rest.slice(0, cut);
    const pagination = {
      page,
      limit,
      total: Math.min(total, cap),
      ...(total > cap && { totalCapped: true }),
      ...(data.length < rest.length && { truncated: true }),
    };
    return { data, pagination };
  };
  return { read, queries };
}

const numbers = (total: number) => Array.from({ length: total }, (_, i) => i);

describe('listRecords', () => {
  it.each([0, 1, 4, 5, 6, 10, 23])('reads all %i records of a list that is paged by number', async (total) => {
    const { read, queries } = numbered(total);
    expect(await collect(read)).toEqual(numbers(total));
    expect(queries.length).toBe(Math.max(1, Math.ceil(total / 5)));
  });

  it('keeps the filters of the first page', async () => {
    const { read, queries } = numbered(6);
    await collect(read, { search: 'till' });
    expect(queries).toEqual([{ search: 'till' }, { search: 'till', page: 2 }]);
  });

  it('reads on behind a total that is capped', async () => {
    expect(await collect(numbered(23, { cap: 10 }).read)).toEqual(numbers(23));
    expect(await collect(numbered(25, { cap: 10 }).read)).toEqual(numbers(25));
  });

  it.each([1, 2, 3, 4])('reads every record once when pages end early, after %i records', async (cut) => {
    expect(await collect(numbered(23, { cut }).read)).toEqual(numbers(23));
    expect(await collect(numbered(23, { cut, cap: 10 }).read)).toEqual(numbers(23));
  });

  it('follows cursors, also of an empty page', async () => {
    const pages: Record<string, unknown> = {
      '': { data: [1, 2], pagination: { limit: 2, nextCursor: 'b' } },
      b: { data: [], pagination: { limit: 2, nextCursor: 'c' } },
      c: { data: [3], pagination: { limit: 2, nextCursor: null } },
    };
    expect(await collect(({ cursor = '' }) => pages[cursor as string])).toEqual([1, 2, 3]);
  });

  it.each([
    ['/devices', undefined, { cursor: '' }],
    ['/webhooks/{id}/deliveries', { status: 'failed' }, { status: 'failed', cursor: '' }],
    ['/devices', { page: 3 }, { page: 3 }],
    ['/devices', { cursor: 'b' }, { cursor: 'b' }],
    ['/webhooks', { search: 'till' }, { search: 'till' }],
    ['/audit-logs', {}, {}],
  ])('begins %s with the query %j by %j', async (path, first, expected) => {
    const queries: Query[] = [];
    const read = (query: Query) => {
      queries.push(query);
      return { data: [], pagination: { limit: 5, nextCursor: null } };
    };
    await collect(read, first, path);
    expect(queries).toEqual([expected]);
  });

  it('throws when the cursor does not advance', async () => {
    const page = { data: [1], pagination: { limit: 1, nextCursor: 'same' } };
    await expect(collect(() => page)).rejects.toThrow('does not advance');
  });

  it('reads no further page when the caller stops', async () => {
    const { read, queries } = numbered(20);
    for await (const record of listRecords(NUMBERED, (query) => Promise.resolve(read(query)))) if (record === 3) break;
    expect(queries).toHaveLength(1);
  });
});
