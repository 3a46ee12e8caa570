import { randomUUID } from 'node:crypto';
import type { FindOptionsWhere } from 'typeorm';
import {
  as,
  Device,
  PersistenceTestDatabase,
  noTenant,
  orgA1,
  orgA2,
  organization,
  orgB1,
  partner,
  partnerA,
  partnerB,
  platform,
  SCHEMA,
  selected,
} from '../../test/persistence-test-database.js';
import { Cursors } from '../paging/cursors.js';
import type { PageRequest } from '../paging/list-page.js';
import type { HasTenant } from './tenant-context.js';
import type { TenantDatabase, TenantTransaction } from './tenant-database.service.js';
import { TenantRepository, type Condition, type QueryShape, type Source, type Where } from './tenant.repository.js';

class DeviceNotFound extends Error {}

const cursors = new Cursors('k'.repeat(32));

class DevicesRepository extends TenantRepository<Device> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Device, () => new DeviceNotFound(), { ownership: 'organization' });
  }

  find(source: Source, where: Where<Device>) {
    return this.findOne(source, { where });
  }
  get(source: Source, id: string) {
    return this.getOne(source, { where: { id } });
  }
  getWithSecret(source: Source, id: string) {
    return this.getOne(source, { where: { id }, hidden: ['secret'] });
  }
  names(source: Source, conditions: Condition[] = []) {
    return this.findMany(source, { columns: ['name'], conditions, sort: { name: 'ASC' } });
  }
  list(source: Source, page: PageRequest, where: Where<Device> = {}) {
    return this.listPage(source, { where, sort: { name: 'DESC' }, page });
  }
  newest(source: Source, page: PageRequest) {
    return this.listPage(source, { columns: ['name'], page });
  }
  after(caller: HasTenant, cursor: string | null, limit: number) {
    const binding = { caller, list: 'devices', filters: {} };
    return this.keysetPage(caller, cursors, binding, { sort: { name: 'ASC', id: 'ASC' }, limit, cursor });
  }
  withOrgSize(source: Source) {
    return this.findMany<{ name: string; size: number }>(source, {
      columns: ['name'],
      sort: { name: 'ASC' },
      shape: {
        key: 'size',
        build: (query) => query.addSelect('char_length(device.name)', 'size'),
      },
    });
  }
  private readonly bySize = {
    shape: {
      key: 'by-size',
      sortable: { size: 'integer' },
      build: (query) => query.addSelect('char_length(device.name)', 'size'),
    } satisfies QueryShape<Device>,
    countShape: { key: 'none', build: (query) => query.andWhere('false') } satisfies QueryShape<Device>,
    sort: { size: 'DESC', id: 'DESC' },
  } as const;
  bySizePage(source: Source, page: PageRequest) {
    return this.listPage<{ name: string; size: number }>(source, { ...this.bySize, page });
  }
  bySizeAfter(caller: HasTenant, cursor: string, limit: number) {
    const binding = { caller, list: 'devices', filters: {} };
    return this.keysetPage<{ name: string }>(caller, cursors, binding, { ...this.bySize, limit, cursor });
  }
  /** Lists the devices of all organizations but one. */
  listWithout(source: Source, orgId: string, where: Where<Device> = {}) {
    const sameOfRow = { sql: `device.orgId <> '${orgId}'` };
    const table = '(SELECT DISTINCT partner_id, org_id FROM device)';
    const organizations = { table, id: 'org_id', condition: `o.org_id <> '${orgId}'`, sameOfRow };
    return this.listPage(source, { where, conditions: [sameOfRow], organizations, page: { page: 1, limit: 10 } });
  }
  override insert(tx: TenantTransaction, values: Partial<Device>) {
    return super.insert(tx, values);
  }
  rename(tx: TenantTransaction, id: string, name?: string) {
    return this.updateOne(tx, { id }, { name });
  }
  appendToName(tx: TenantTransaction, id: string, suffix: string) {
    return this.updateOne(tx, { id }, { name: () => 'name || :suffix' }, { suffix });
  }
  override delete(tx: TenantTransaction, where: FindOptionsWhere<Device>) {
    return super.delete(tx, where);
  }
  lock(tx: TenantTransaction, id: string) {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }
  total(source: Source) {
    return this.count(source, {});
  }
}

describe('TenantRepository', () => {
  let fleet: PersistenceTestDatabase;
  let devices: DevicesRepository;
  let a1: string;

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start();
    devices = new DevicesRepository(fleet.tenants);
    const [row] = await fleet.admin(`select id from provisioning.device where name = 'a1'`);
    a1 = String(row?.['id']);
  });
  afterAll(() => fleet.stop());

  it('returns rows with the properties of the entity, without columns declared select: false', async () => {
    const row = await devices.get(partner(partnerA), a1);
    expect(row).toEqual({
      id: a1,
      partnerId: partnerA,
      orgId: orgA1,
      name: 'a1',
      tags: [],
      installedOn: null,
      createdAt: expect.any(Date) as Date,
    });
    expect(await devices.getWithSecret(partner(partnerA), a1)).toMatchObject({ name: 'a1', secret: null });
  });

  it('throws its not-found error for a row of another tenant, and finds null', async () => {
    await expect(devices.get(partner(partnerB), a1)).rejects.toThrow(DeviceNotFound);
    expect(await devices.find(partner(partnerB), { id: a1 })).toBeNull();
  });

  it.each<[string, HasTenant, string[]]>([
    ['no rows without a tenant', noTenant, []],
    ['all rows to the platform', platform, ['a1', 'a2', 'b1']],
    ['the rows of its organizations to a partner', partner(partnerA), ['a1', 'a2']],
    ['the selected organizations only', selected(partnerA, [orgA2, orgB1]), ['a2']],
    ['no rows to a partner member without access', as({ scope: 'partner', partnerId: partnerA }), []],
    ['its own rows to an organization', organization(partnerA, orgA1), ['a1']],
  ])('shows %s', async (_what, caller, expected) => {
    expect((await devices.names(caller)).map((row) => row.name)).toEqual(expected);
    expect(await devices.total(caller)).toBe(expected.length);
  });

  it.each([1, 2, 100, 101, 1_000])('shows the same rows and total for one organization among %i', async (count) => {
    const caller = selected(partnerA, [...Array.from({ length: count - 1 }, () => randomUUID()), orgA2]);
    const { rows, total } = await devices.list(caller, { page: 1, limit: 10 });
    expect([rows.map(({ name }) => name), total]).toEqual([['a2'], 1]);
    const named = await devices.list(caller, { page: 1, limit: 10 }, { orgId: orgA2 });
    expect([named.rows.map(({ name }) => name), named.total]).toEqual([['a2'], 1]);
    expect((await devices.list(caller, { page: 1, limit: 10 }, { orgId: orgA1 })).rows).toEqual([]);
  });

  it.each([2, 101])('counts the rows of the listed organizations for a caller with %i selected ones', async (count) => {
    const others = Array.from({ length: count - 2 }, () => randomUUID());
    const caller = selected(partnerA, [orgA1, orgA2, ...others]);
    expect(await devices.listWithout(caller, orgA1)).toMatchObject({ rows: [{ name: 'a2' }], total: 1 });
    expect(await devices.listWithout(caller, orgB1)).toMatchObject({ total: 2 });
    expect(await devices.listWithout(caller, orgB1, { name: 'a1' })).toMatchObject({
      rows: [{ name: 'a1' }],
      total: 1,
    });
    expect(await devices.listWithout(selected(partnerA, [orgA1, ...others]), orgA1)).toEqual({ rows: [], total: 0 });
  });

  it('filters by value, list and null, and leaves undefined properties out', async () => {
    const names = async (where: Where<Device>) =>
      (await devices.list(platform, { page: 1, limit: 10 }, where)).rows.map((row) => row.name);
    expect(await names({ name: 'a1', orgId: undefined })).toEqual(['a1']);
    expect(await names({ orgId: [orgA2, orgB1] })).toEqual(['b1', 'a2']);
    expect(await names({ installedOn: null })).toEqual(['b1', 'a2', 'a1']);
    expect(await names({ orgId: [] })).toEqual([]);
  });

  it('binds the values of conditions, whose properties become columns', async () => {
    const conditions = [
      { sql: 'device.orgId <> :other AND device.name LIKE :pattern', params: { other: orgA2, pattern: 'a%' } },
    ];
    expect(await devices.names(platform, conditions)).toEqual([{ name: 'a1' }]);
  });

  it('selects computed columns of a shape', async () => {
    expect(await devices.withOrgSize(partner(partnerB))).toEqual([{ name: 'b1', size: 2 }]);
  });

  it('lists a page and the total in one round trip', async () => {
    const list = () => devices.list(partner(partnerA), { page: 2, limit: 1 });
    await list();
    const before = fleet.gate.roundTrips();
    const { rows, total } = await list();
    expect(fleet.gate.roundTrips() - before).toBe(1);
    expect(rows.map((row) => row.name)).toEqual(['a1']);
    expect(total).toBe(2);
  });

  it('counts all rows on a page beyond the last', async () => {
    expect(await devices.list(platform, { page: 9, limit: 10 })).toEqual({ rows: [], total: 3 });
  });

  it('lists newest first by default', async () => {
    await fleet.tenants.transaction(partner(partnerB), async (tx) => {
      const { id } = await devices.insert(tx, { id: randomUUID(), partnerId: partnerB, orgId: orgB1, name: 'new' });
      expect((await devices.newest(tx, { page: 1, limit: 1 })).rows).toEqual([{ name: 'new' }]);
      await devices.delete(tx, { id });
    });
  });

  it('follows cursors to the last page', async () => {
    const first = await devices.after(partner(partnerA), null, 1);
    expect(first.rows.map((row) => row.name)).toEqual(['a1']);
    const second = await devices.after(partner(partnerA), first.nextCursor, 1);
    expect(second.rows.map((row) => row.name)).toEqual(['a2']);
    expect(second.nextCursor).toBeNull();
  });

  it('sorts by a computed column of the shape and counts with the shape of the count', async () => {
    const { rows, total } = await devices.bySizePage(platform, { page: 1, limit: 10 });
    const sizes = rows.map(({ size }) => size);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect([rows.length > 1, total]).toEqual([true, 0]);
    const first = await devices.bySizeAfter(platform, '', 1);
    const second = await devices.bySizeAfter(platform, first.nextCursor ?? '', 10);
    expect([...first.rows, ...second.rows].map(({ name }) => name)).toEqual(rows.map(({ name }) => name));
  });

  it('reads in one round trip', async () => {
    await devices.get(partner(partnerA), a1);
    const before = fleet.gate.roundTrips();
    await devices.get(partner(partnerA), a1);
    expect(fleet.gate.roundTrips() - before).toBe(1);
  });

  it('inserts, updates, locks and deletes inside a transaction and returns rows as stored', async () => {
    await fleet.tenants.transaction(partner(partnerA), async (tx) => {
      const id = randomUUID();
      const inserted = await devices.insert(tx, {
        id,
        partnerId: partnerA,
        orgId: orgA1,
        name: 'x',
        tags: ['t'],
        secret: Buffer.from('s'),
        installedOn: '2026-02-03',
      });
      expect(inserted).toMatchObject({
        id,
        name: 'x',
        tags: ['t'],
        secret: Buffer.from('s'),
        installedOn: '2026-02-03',
      });
      expect(inserted.createdAt).toBeInstanceOf(Date);
      expect(await devices.lock(tx, id)).toMatchObject({ name: 'x', installedOn: '2026-02-03' });
      expect(await devices.rename(tx, id, 'y')).toMatchObject({ id, name: 'y', tags: ['t'] });
      expect(await devices.appendToName(tx, id, '!')).toMatchObject({ name: 'y!' });
      expect(await devices.delete(tx, { id })).toBe(1);
      await expect(devices.rename(tx, id, 'z')).rejects.toThrow(DeviceNotFound);
    });
  });

  it('restricts reads inside a transaction to the tenant of the transaction', async () => {
    const names = await fleet.tenants.transaction(organization(partnerA, orgA2), (tx) => devices.names(tx));
    expect(names).toEqual([{ name: 'a2' }]);
  });

  it('refuses to change all rows', async () => {
    const work = fleet.tenants.transaction(platform, (tx) => devices.delete(tx, { id: undefined }));
    await expect(work).rejects.toThrow('Each condition of a change needs a value');
  });
});

describe('the plans of lists', () => {
  const TENANTS = 2_000;
  const large = partnerA;
  let fleet: PersistenceTestDatabase;
  let devices: DevicesRepository;

  beforeAll(async () => {
    // One connection, so that each call meets the statements that the calls before it prepared.
    fleet = await PersistenceTestDatabase.start({ serviceMax: 1, workerMax: 1 });
    devices = new DevicesRepository(fleet.tenants);
    await fleet.admin(`CREATE INDEX ON ${SCHEMA}.device (partner_id, created_at DESC, id DESC)`);
    await fleet.admin(
      `INSERT INTO ${SCHEMA}.device (id, partner_id, org_id, name, created_at)
       SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'small ' || n, now() - n * interval '1 second'
       FROM generate_series(1, ${TENANTS}) n
       UNION ALL
       SELECT gen_random_uuid(), $1::uuid, gen_random_uuid(), 'large ' || n, now() - n * interval '1 second'
       FROM generate_series(1, 20000) n`,
      [large],
    );
    await fleet.admin(`ANALYZE ${SCHEMA}.device`);
  });
  afterAll(() => fleet.stop());

  /** Returns how often each prepared statement about devices ran, by the kind of its plan. */
  const preparedPlans = async () => {
    const { rows } = await fleet.databases.servicePool.query<{ generic: number; custom: number }>(
      `SELECT generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements
        WHERE statement LIKE '%"device"%'`,
    );
    return rows;
  };
  const listTimes = async (times: number, caller: HasTenant) => {
    for (let call = 0; call < times; call++) await devices.newest(caller, { page: 1, limit: 50 });
  };

  it('plans the list of a whole partner for its values, however often lists of other partners ran', async () => {
    await listTimes(10, partner(partnerB));
    await listTimes(10, selected(partnerB, [orgB1, orgA1]));
    expect((await devices.newest(partner(large), { page: 1, limit: 50 })).rows).toHaveLength(50);
    expect(await preparedPlans()).toEqual([]);
  });

  it('has one plan for the lists of organizations, which are alike', async () => {
    await listTimes(10, organization(partnerB, orgB1));
    expect(await preparedPlans()).toContainEqual({ generic: expect.any(Number) as number, custom: 5 });
  });
});
