import { randomUUID } from 'node:crypto';
import type { Caller } from '@rmm/access';
import { InvalidCursor } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { Site } from '../sites/site.entity.js';
import {
  NEWEST_FIRST,
  SortedListRepository,
  type ListOrders,
  type SortedPageRequest,
} from './sorted-list.repository.js';

/** A list of sites by the default orders, or by orders of its own. */
class ListedSites<Sort extends string> extends SortedListRepository<Site, Sort> {
  constructor({ tenants }: ProvisioningTestDatabase, list: string, orders?: ListOrders<Sort>) {
    const options = { ownership: 'organization' as const, list, orders };
    super(tenants, TEST_SECRETS, Site, () => new NotFoundError('Site'), options);
  }

  list(caller: Caller, page: SortedPageRequest<Sort>, filters: { orgId?: string } = {}) {
    return this.listSorted<Site>(caller, page, filters, { where: filters });
  }
}

describe('SortedListRepository', () => {
  let database: ProvisioningTestDatabase;
  let sites: ListedSites<'name'>;
  let caller: Caller;
  let orgId: string;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    sites = new ListedSites<'name'>(database, 'sites');
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
    caller = partnerCaller(partnerId);
    for (const name of ['b', 'd', 'a', 'e', 'c']) await database.createSite(partnerId, orgId, name);
    // Rows written within one millisecond are in the order of their random ids.
    await database.admin.query(`UPDATE site SET created_at = now() - strpos('ceadb', name) * interval '1 second'`);
  });
  afterAll(() => database?.stop());

  const names = async (page: Partial<SortedPageRequest<'name'>>) => {
    const { rows } = await sites.list(caller, { page: 1, limit: 10, ...page });
    return rows.map(({ name }) => name).join('');
  };

  it('lists newest first, names ascending, and either in the direction that a request names', async () => {
    expect(await names({})).toBe('ceadb');
    expect(await names({ sort: 'created' })).toBe('ceadb');
    expect(await names({ order: 'asc' })).toBe('bdaec');
    expect(await names({ sort: 'name' })).toBe('abcde');
    expect(await names({ sort: 'name', order: 'desc' })).toBe('edcba');
  });

  it('describes a numbered page by its number and total, one after a cursor by its order and next cursor', async () => {
    expect((await sites.list(caller, { page: 2, limit: 2 })).pagination).toEqual({ page: 2, limit: 2, total: 5 });
    const { pagination } = await sites.list(caller, { page: 1, limit: 2, sort: 'name', cursor: '' });
    expect(pagination).toEqual({ limit: 2, nextCursor: expect.any(String), sort: { by: 'name', dir: 'asc' } });
    const counted = await sites.list(caller, { page: 1, limit: 5, cursor: '', includeTotal: true });
    expect(counted.pagination).toEqual({ limit: 5, nextCursor: null, total: 5, sort: { by: 'created', dir: 'desc' } });
  });

  it.each(['asc', 'desc'] as const)('returns each row once with cursors, %s', async (order) => {
    let found = '';
    let cursor: string | null | undefined = '';
    while (typeof cursor === 'string') {
      const { rows, pagination }: Awaited<ReturnType<typeof sites.list>> = await sites.list(caller, {
        ...{ page: 1, limit: 2, sort: 'name', order, cursor },
      });
      found += rows.map(({ name }) => name).join('');
      cursor = pagination.nextCursor;
    }
    expect(found).toBe(order === 'asc' ? 'abcde' : 'edcba');
  });

  it('sorts by several properties in the orders of a list', async () => {
    const orders = { zone: { by: ['timezone', 'nameKey'], dir: 'asc' }, created: NEWEST_FIRST } as const;
    const zoned = new ListedSites(database, 'zones', orders);
    await database.admin.query(`UPDATE site SET timezone = 'Asia/Tokyo' WHERE name IN ('d', 'e')`);
    const { rows } = await zoned.list(caller, { page: 1, limit: 10, sort: 'zone' });
    expect(rows.map(({ name }) => name).join('')).toBe('deabc');
  });

  it('refuses the cursor of another list, tenant, filter or order', async () => {
    const { pagination } = await sites.list(caller, { page: 1, limit: 2, cursor: '' });
    const page = { page: 1, limit: 2, cursor: pagination.nextCursor ?? '' };
    expect((await sites.list(caller, page)).rows).toHaveLength(2);
    await expect(sites.list(organizationCaller(partnerId, orgId), page)).rejects.toThrow(InvalidCursor);
    await expect(sites.list(caller, page, { orgId })).rejects.toThrow(InvalidCursor);
    await expect(sites.list(caller, { ...page, sort: 'name' })).rejects.toThrow(InvalidCursor);
    await expect(sites.list(caller, { ...page, order: 'asc' })).rejects.toThrow(InvalidCursor);
    await expect(new ListedSites(database, 'others').list(caller, page)).rejects.toThrow(InvalidCursor);
  });
});
