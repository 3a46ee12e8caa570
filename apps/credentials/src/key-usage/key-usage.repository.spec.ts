import { randomBytes, randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { KeyUsageRepository } from './key-usage.repository.js';

describe('KeyUsageRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: KeyUsageRepository;
  const [partnerId, orgId] = [randomUUID(), randomUUID()];
  const caller = buildPartnerCaller(partnerId);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    await opened.createOrganization(partnerId, { orgId });
    repository = new KeyUsageRepository(opened.tenants, opened.worker);
  });
  afterAll(() => opened.stop());

  it('accepts a batch once', async () => {
    const batchId = randomUUID();
    const add = () => opened.worker.transaction((tx) => repository.addBatch(tx, batchId));
    expect([await add(), await add()]).toEqual([true, false]);
  });

  it('adds uses of the current generation, and days of all', async () => {
    const keys = new ApiKeysRepository(opened.tenants);
    const key = { partnerId, orgId, name: 'k', keyPrefix: 'svc_12345678', keyHash: randomBytes(32), scopes: [] };
    const { id } = await opened.tenants.transaction(caller, (tx) => keys.create(tx, { ...key, rateLimit: 1 }));
    const use = { kind: 'api_key' as const, keyId: id, count: 3, lastUsedAt: '2026-11-21T23:59:59.000Z' };
    const add = (generation: number) =>
      opened.worker.transaction(async (tx) => {
        await repository.addDays(tx, [{ ...use, generation }]);
        return repository.addUses(tx, 'api_key', [{ ...use, generation }]);
      });
    expect([await add(1), await add(2)]).toEqual([1, 0]);
    expect((await keys.get(caller, id)).usageCount).toBe('3');
    expect(await repository.listDays(caller, id, '2026-11-21')).toEqual([{ day: '2026-11-21', count: '6' }]);
    expect(await repository.listDays(buildPartnerCaller(randomUUID()), id, '2026-11-21')).toEqual([]);
  });
});
