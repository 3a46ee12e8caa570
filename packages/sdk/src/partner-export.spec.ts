import { PartnerExport } from './partner-export.js';

describe('PartnerExport', () => {
  const collect = async (exported: AsyncIterable<unknown>) => {
    const records: unknown[] = [];
    for await (const record of exported) records.push(record);
    return records;
  };

  it.each([null, 'c1'])('throws when more follows but the cursor is %p again', async (nextCursor) => {
    const page = { snapshotAt: 'T', data: [{ id: 'a' }], nextCursor, hasMore: true };
    const exported = new PartnerExport(() => Promise.resolve(page), {});
    await expect(collect(exported)).rejects.toThrow('does not advance');
  });

  it('ends with the page that has no more', async () => {
    let calls = 0;
    const last = { snapshotAt: 'T', data: [], nextCursor: null, hasMore: false };
    const exported = new PartnerExport(() => Promise.resolve((calls++, last)), {});
    expect(await collect(exported)).toEqual([]);
    expect([calls, exported.snapshotAt]).toEqual([1, 'T']);
  });
});
