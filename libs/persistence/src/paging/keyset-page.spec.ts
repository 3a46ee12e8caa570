import {
  PersistenceTestDatabase,
  noTenant,
  orgA1,
  partner,
  partnerA,
  partnerB,
} from '../../test/persistence-test-database.js';
import { InvalidCursor } from './cursor.errors.js';
import { Cursors, type CursorBinding } from './cursors.js';
import { keysetPage, type KeysetQuery } from './keyset-page.js';

describe('keysetPage', () => {
  let fleet: PersistenceTestDatabase;
  const me = partner(partnerA);
  const cursors = new Cursors('k'.repeat(32));
  const binding: CursorBinding = { caller: me, list: 'devices', filters: { status: 'online', siteId: undefined } };
  const devices: KeysetQuery = {
    select: 'd.name',
    from: "device d cross join lateral (select timestamptz '2026-01-01Z' + (substr(d.name, 2)::int / 2) * interval '1 microsecond' as at) t",
    where: 'd.name like :pattern',
    params: { pattern: 'k%' },
    sort: [
      { expression: 't.at', type: 'timestamptz' },
      { expression: 'd.id', type: 'uuid' },
    ],
    direction: 'desc',
    limit: 3,
  };
  const page = (cursor: string | null, more: Partial<KeysetQuery> = {}, bound = binding) =>
    keysetPage<{ name: string }>(fleet.tenants.reader(bound.caller), cursors, bound, { ...devices, cursor, ...more });

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start();
    await fleet.admin(
      `insert into provisioning.device (id, partner_id, org_id, name) select gen_random_uuid(), $1, $2, 'k' || i from generate_series(0, 9) i`,
      [partnerA, orgA1],
    );
  });
  afterAll(() => fleet.stop());

  it.each(['desc', 'asc'] as const)(
    'returns each row once, %s, also with equal times or times that differ by microseconds',
    async (direction) => {
      const seen: string[] = [];
      const sizes: number[] = [];
      let cursor: string | null = null;
      do {
        const { rows, nextCursor } = await page(cursor, { direction });
        seen.push(...rows.map((row) => row.name));
        sizes.push(rows.length);
        cursor = nextCursor;
      } while (cursor !== null);
      expect(sizes).toEqual([3, 3, 3, 1]);
      expect(new Set(seen).size).toBe(10);
      const moments = seen.map((name) => Math.floor(Number(name.slice(1)) / 2));
      expect(moments).toEqual(moments.toSorted((a, b) => (direction === 'desc' ? b - a : a - b)));
    },
  );

  it.each(['desc', 'asc'] as const)('returns each row once, %s, by a column of a joined table', async (direction) => {
    const sort = devices.sort.map((key, n) => ({ ...key, joined: n === 0 }));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { rows, nextCursor } = await page(cursor, { direction, sort });
      seen.push(...rows.map((row) => row.name));
      cursor = nextCursor;
    } while (cursor !== null);
    expect([seen.length, new Set(seen).size]).toEqual([10, 10]);
  });

  it('has no next page after an exactly full last page', async () => {
    expect((await page(null, { limit: 10 })).nextCursor).toBeNull();
    expect((await page(null, { limit: 9 })).nextCursor).not.toBeNull();
  });

  it('returns rows without the position', async () => {
    const { rows } = await page(null, { limit: 1 });
    expect(Object.keys(rows[0])).toEqual(['name']);
  });

  it('returns no rows without a tenant', async () => {
    expect(await page(null, {}, { ...binding, caller: noTenant })).toEqual({ rows: [], nextCursor: null });
  });

  describe('a cursor', () => {
    const refused = { status: 400, code: 'invalid_cursor' };
    const cursorOfMine = async () => (await page(null)).nextCursor ?? '';

    it('is refused for another tenant, list, filter or order', async () => {
      const cursor = await cursorOfMine();
      await expect(page(cursor, {}, { ...binding, caller: partner(partnerB) })).rejects.toMatchObject(refused);
      await expect(page(cursor, {}, { ...binding, list: 'sites' })).rejects.toMatchObject(refused);
      await expect(page(cursor, {}, { ...binding, filters: { status: 'offline' } })).rejects.toMatchObject(refused);
      await expect(page(cursor, { direction: 'asc' })).rejects.toMatchObject(refused);
    });

    it('is accepted with filters in another order or unset', async () => {
      const cursor = await cursorOfMine();
      await expect(
        page(cursor, {}, { ...binding, filters: { orgId: undefined, status: 'online' } }),
      ).resolves.toBeDefined();
    });

    it.each(['', 'x', 'x.y', 'a.b.c', '%%%.%%%'])('is refused as %p', async (cursor) => {
      expect(() => cursors.decode(cursor, binding, 'x')).toThrow(InvalidCursor);
    });

    it('is refused when it was changed or signed with another key', async () => {
      const cursor = await cursorOfMine();
      const changed = (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1);
      await expect(page(changed)).rejects.toMatchObject(refused);
      for (const end of ['=', '==', '!!', ' ']) await expect(page(cursor + end)).rejects.toMatchObject(refused);
      const other = new Cursors('o'.repeat(32)).encode(['2026-01-01', 'x'], binding, 't.at,d.id desc');
      await expect(page(other)).rejects.toMatchObject(refused);
    });

    it('requires a key of 32 bytes', () => {
      expect(() => new Cursors('short')).toThrow('32 bytes');
    });
  });
});
