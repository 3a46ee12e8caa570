import { randomUUID } from 'node:crypto';
import type { PartnerState } from '@rmm/contracts';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { PartnersRepository } from './partners.repository.js';

describe('PartnersRepository', () => {
  let database: ProvisioningTestDatabase;
  let partners: PartnersRepository;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    partners = new PartnersRepository(database.tenants);
  }, 60_000);
  afterAll(() => database?.stop());

  const buildState = (partnerId: string, version: number, name: string): PartnerState => ({
    partnerId,
    name,
    slug: `partner-${partnerId}`,
    status: 'active',
    maxOrganizations: 5,
    maxDevices: null,
    timezone: 'Europe/Berlin',
    settings: {},
    version,
  });
  const save = (state: PartnerState) => database.worker.transaction((tx) => partners.save(tx, state));
  const find = (id: string, as = id) => database.tenants.transaction(partnerCaller(as), (tx) => partners.find(tx, id));

  it('stores the newest version in any order', async () => {
    const partnerId = randomUUID();
    await save(buildState(partnerId, 1, 'first'));
    await save(buildState(partnerId, 3, 'third'));
    await save(buildState(partnerId, 2, 'second'));
    expect(await find(partnerId)).toMatchObject({ name: 'third', version: '3', maxOrganizations: 5, maxDevices: null });
  });

  it('returns null for an unknown partner and for the partner of another caller', async () => {
    const partnerId = randomUUID();
    await save(buildState(partnerId, 1, 'mine'));
    expect(await find(randomUUID())).toBeNull();
    expect(await find(partnerId, randomUUID())).toBeNull();
  });

  it('serializes transactions that lock the same partner', async () => {
    const partnerId = randomUUID();
    const order: string[] = [];
    const work = (name: string) =>
      database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
        await partners.lockOrganizations(tx, partnerId);
        order.push(`${name} starts`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} ends`);
      });
    await Promise.all([work('a'), work('b')]);
    expect(order[0].split(' ')[0]).toBe(order[1].split(' ')[0]);
  });
});
