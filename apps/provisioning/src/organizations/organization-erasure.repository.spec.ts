import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { OrganizationErasureRepository } from './organization-erasure.repository.js';

describe('OrganizationErasureRepository', () => {
  let database: ProvisioningTestDatabase;
  let erasures: OrganizationErasureRepository;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    erasures = new OrganizationErasureRepository(database.worker);
  }, 60_000);
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
    await database.admin.query('DELETE FROM organization_erasure');
    const orgId = await database.createOrganization(randomUUID());
    await database.admin.query(
      'INSERT INTO organization_erasure (org_id, partner_id) SELECT id, partner_id FROM organization WHERE id = $1',
      [orgId],
    );
    const claim = () =>
      erasures.transaction(async (tx) => {
        const claimed = await erasures.claim(tx);
        await sleep(300); // both transactions are open at the same time
        return claimed;
      });
    const claims = await Promise.all([claim(), claim()]);
    expect(claims.filter((each) => each !== null)).toMatchObject([{ orgId, erased: {} }]);
  });
});
