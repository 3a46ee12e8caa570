import { randomBytes, randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { KeyLookupRepository } from './key-lookup.repository.js';

describe('KeyLookupRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: KeyLookupRepository;
  const [partnerId, orgId] = [randomUUID(), randomUUID()];
  const caller = buildPartnerCaller(partnerId);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    await opened.createOrganization(partnerId, { orgId });
    repository = new KeyLookupRepository(opened.worker);
  });
  afterAll(() => opened.stop());

  it('returns null for an unknown hash', async () => {
    expect(await repository.findApiKey(randomBytes(32))).toBeNull();
    expect(await repository.findPartnerKey(randomBytes(32))).toBeNull();
  });

  it('finds a key by its hash, and by the previous one while that works', async () => {
    const keys = new ApiKeysRepository(opened.tenants);
    const [previous, current] = [randomBytes(32), randomBytes(32)];
    const key = { partnerId, orgId, name: 'k', keyPrefix: 'svc_12345678', keyHash: previous, scopes: [], rateLimit: 5 };
    await opened.tenants.transaction(caller, async (tx) => {
      const { id } = await keys.create(tx, key);
      await keys.rotate(tx, id, { keyPrefix: 'svc_87654321', keyHash: current, overlapSeconds: 60 });
    });
    expect(await repository.findApiKey(current)).toMatchObject({
      orgId,
      storedStatus: 'active',
      expired: false,
      expiresAt: null,
      principalActive: null,
    });
    expect((await repository.findApiKey(previous))?.expiresAt).toBeInstanceOf(Date);
  });
});
