import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';

describe('OrganizationErasuresRepository', () => {
  let database: ProvisioningTestDatabase;
  let erasures: OrganizationErasuresRepository;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    erasures = new OrganizationErasuresRepository(database.worker, database.tenants);
  });
  afterAll(() => database?.stop());

  it('starts a bounded number, oldest first, and each once', async () => {
    const partnerId = randomUUID();
    const ids: string[] = [];
    for (const days of [31, 40, 35]) {
      const id = await database.createOrganization(partnerId);
      await database.admin.query(
        'UPDATE organization SET deleted_at = now() - make_interval(days => $2) WHERE id = $1',
        [id, days],
      );
      ids.push(id);
    }
    const start = async (limit: number) =>
      (await erasures.transaction((tx) => erasures.start(tx, limit))).map(({ id }) => id);
    expect((await start(2)).sort()).toEqual([ids[1], ids[2]].sort());
    expect(await start(2)).toEqual([ids[0]]);
    expect(await start(2)).toEqual([]);
  });

  it('gives an erasure to one of two replicas', async () => {
    await database.admin.query('TRUNCATE organization_erasure CASCADE');
    const orgId = await database.createOrganization(randomUUID());
    await database.admin.query(`UPDATE organization SET deleted_at = now() - interval '31 days' WHERE id = $1`, [
      orgId,
    ]);
    await erasures.transaction((tx) => erasures.start(tx, 1));
    let claiming = 2;
    let release = () => undefined as void;
    const bothHaveClaimed = new Promise<void>((resolve) => (release = resolve));
    const claim = () =>
      erasures.transaction(async (tx) => {
        const claimed = await erasures.claim(tx);
        if ((claiming -= 1) === 0) release();
        await bothHaveClaimed; // the transactions end after both have read
        return claimed;
      });
    const claims = await Promise.all([claim(), claim()]);
    expect(claims.filter((each) => each !== null)).toMatchObject([{ orgId, service: 'provisioning', erased: {} }]);
  });

  it('shows an erasure to callers with access to the organization, from its deletion on', async () => {
    const partnerId = randomUUID();
    const id = await database.createOrganization(partnerId);
    const get = (caller = partnerCaller(partnerId)) => erasures.get(caller, id);
    await expect(get()).rejects.toThrow(NotFoundError);
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [id]);
    expect(await get()).toMatchObject({ orgId: id, requestedAt: null, startedAt: null, parts: [] });
    await expect(get(partnerCaller(randomUUID()))).rejects.toThrow(NotFoundError);
    await database.tenants.transaction(partnerCaller(partnerId), (tx) => erasures.request(tx, { id, partnerId }));
    await erasures.transaction((tx) => erasures.start(tx, 10));
    const services = ['credentials', 'identity', 'provisioning', 'webhook-dispatcher'];
    expect((await get()).parts.map(({ service }) => service)).toEqual(services);
    await expect(get(partnerCaller(randomUUID()))).rejects.toThrow(NotFoundError);
  });

  it('records one of two reports of a service, and one last report of parallel ones', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    await database.admin.query(`UPDATE organization SET deleted_at = now() - interval '31 days' WHERE id = $1`, [
      orgId,
    ]);
    await erasures.transaction((tx) => erasures.start(tx, 10));
    const services = ['credentials', 'identity', 'provisioning', 'webhook-dispatcher'] as const;
    const finish = (service: (typeof services)[number]) =>
      erasures.transaction((tx) => erasures.finishPart(tx, { orgId, partnerId, service, erased: { x: 2 } }));
    const results = await Promise.all([...services, ...services].map(finish));
    expect(results.filter(({ recorded }) => recorded)).toHaveLength(4);
    expect(results.filter(({ isLast }) => isLast)).toHaveLength(1);
    const foreign = { orgId, partnerId: randomUUID(), service: 'identity' as const, erased: {} };
    expect(await erasures.transaction((tx) => erasures.finishPart(tx, foreign))).toMatchObject({ recorded: false });
  });
});
