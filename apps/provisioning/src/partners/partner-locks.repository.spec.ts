import { randomUUID } from 'node:crypto';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { PartnerLocksRepository } from './partner-locks.repository.js';

describe('PartnerLocksRepository', () => {
  let database: ProvisioningTestDatabase;
  const locks = new PartnerLocksRepository();

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  }, 60_000);
  afterAll(() => database?.stop());

  it('serializes transactions that lock the same partner', async () => {
    const partnerId = randomUUID();
    const order: string[] = [];
    const work = (name: string) =>
      database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
        await locks.lockOrganizations(tx, partnerId);
        order.push(`${name} starts`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} ends`);
      });
    await Promise.all([work('a'), work('b')]);
    expect(order[0].split(' ')[0]).toBe(order[1].split(' ')[0]);
  });
});
