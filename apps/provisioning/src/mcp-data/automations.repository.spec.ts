import { randomUUID } from 'node:crypto';
import { InvalidCursor } from '@rmm/persistence';
import { publishRecord } from '../../test/export-pagination.js';
import { organizationCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { AutomationsRepository } from './automations.repository.js';

const SECRETS = { secrets: { keyRing: { activeKid: 'k', keys: { k: Buffer.alloc(32, 7) } } } };

describe('AutomationsRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: AutomationsRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new AutomationsRepository(database.tenants, SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const caller = (of = orgId) => organizationCaller(partnerId, of);
  const publish = (over: object = {}) => publishRecord(database, { partnerId, resource: 'automations', ...over });
  const list = (cursor: string | null = null, limit = 50) => repository.list(caller(), { cursor, limit });
  const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id);

  it('lists automations of the organization and of its partner without what they do', async () => {
    const updatedAt = new Date('2026-05-01T10:00:00.000Z');
    const record = {
      ...{ name: 'Clean up', description: 'x'.repeat(600), enabled: true, onFailure: 'stop' },
      ...{ trigger: { cron: '0 3 * * *' }, actions: [{ token: 'hidden' }], notificationTargets: ['ops@acme.example'] },
    };
    const own = await publish({ orgId, record, updatedAt });
    await database.admin.query('SELECT pg_sleep(0.002)'); // times have milliseconds
    const shared = await publish({ record: { name: 'Report', enabled: false } });
    await publish({ orgId, resource: 'configuration-policies' });
    const removed = await publish({ orgId });
    await publish({ orgId, id: removed, record: null, updatedAt: new Date(Date.now() + 1_000) });
    const { items, total, nextCursor } = await list();
    expect([total, nextCursor]).toEqual([2, null]);
    expect(items).toEqual([
      {
        id: shared,
        orgId: null,
        name: 'Report',
        description: null,
        enabled: false,
        onFailure: null,
        updatedAt: expect.any(String),
      },
      {
        ...{ id: own, orgId, name: 'Clean up', description: 'x'.repeat(500), enabled: true, onFailure: 'stop' },
        updatedAt: updatedAt.toISOString(),
      },
    ]);
  });

  it('shows none of another organization or partner', async () => {
    await publish({ orgId: await database.createOrganization(partnerId) });
    const other = randomUUID();
    await publish({ partnerId: other });
    await publish({ partnerId: other, orgId: await database.createOrganization(other) });
    expect(await list()).toEqual({ items: [], total: 0, nextCursor: null });
  });

  it('lists each automation on one page, latest change first, and the total on the first', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) ids.unshift(await publish(n % 2 === 0 ? { orgId } : {}));
    const found: string[] = [];
    const totals: (number | null)[] = [];
    let cursor: string | null = null;
    do {
      const page = await list(cursor, 3);
      found.push(...idsOf(page));
      totals.push(page.total);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(found).toHaveLength(ids.length);
    expect(new Set(found)).toEqual(new Set(ids));
    expect(totals).toEqual([7, null, null]);
    const [latest] = idsOf(await list(null, 1));
    await publish({ id: ids[6], orgId, record: { name: 'Changed' }, updatedAt: new Date(Date.now() + 60_000) });
    expect([latest === ids[6], idsOf(await list(null, 1))]).toEqual([false, [ids[6]]]);
  });

  it('refuses a cursor that is forged or of another organization', async () => {
    for (let n = 0; n < 2; n += 1) await publish();
    const { nextCursor } = await list(null, 1);
    const sibling = caller(await database.createOrganization(partnerId));
    await expect(repository.list(sibling, { cursor: nextCursor, limit: 1 })).rejects.toThrow(InvalidCursor);
    await expect(list('x.y')).rejects.toThrow(InvalidCursor);
  });
});
