import { randomBytes, randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ApiKeyNotFound } from './api-key.errors.js';
import { ApiKeysRepository } from './api-keys.repository.js';

describe('ApiKeysRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: ApiKeysRepository;
  const [partnerId, orgId] = [randomUUID(), randomUUID()];
  const caller = buildPartnerCaller(partnerId);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    await opened.createOrganization(partnerId, { orgId });
    repository = new ApiKeysRepository(opened.tenants);
  });
  afterAll(() => opened.stop());

  const create = (more: object = {}) => {
    const key = { partnerId, orgId, name: 'Reports', keyPrefix: 'svc_12345678', scopes: ['devices:read'], ...more };
    return opened.tenants.transaction(caller, (tx) =>
      repository.create(tx, { ...key, keyHash: randomBytes(32), rateLimit: 10 }),
    );
  };

  it('applies the defaults of the columns and hides the hashes of a read key', async () => {
    const { id, keyHash } = await create();
    const row = await repository.get(caller, id);
    expect(row).toMatchObject({ source: 'manual', status: 'active', generation: 1, usageCount: '0', sourceCidrs: [] });
    expect(keyHash).toBeInstanceOf(Buffer);
    expect(row).not.toHaveProperty('keyHash');
  });

  it('throws ApiKeyNotFound for a key of another tenant', async () => {
    const { id } = await create();
    await expect(repository.get(buildPartnerCaller(randomUUID()), id)).rejects.toThrow(ApiKeyNotFound);
  });

  it('lists by the current status', async () => {
    const own = await opened.createOrganization(partnerId);
    const expired = await create({ orgId: own, expiresAt: new Date(Date.now() - 1_000) });
    const active = await create({ orgId: own });
    const ids = async (status?: 'active' | 'expired') =>
      (await repository.list(caller, { orgId: own, status, page: 1, limit: 10 })).rows.map((row) => row.id);
    expect(await ids()).toEqual([active.id, expired.id]);
    expect(await ids('active')).toEqual([active.id]);
    expect(await ids('expired')).toEqual([expired.id]);
  });

  it('keeps the previous hash during the overlap of a rotation only', async () => {
    const { id, keyHash } = await create();
    const rotate = (overlapSeconds: number) =>
      opened.tenants.transaction(caller, (tx) =>
        repository.rotate(tx, id, { keyPrefix: 'svc_87654321', keyHash: randomBytes(32), overlapSeconds }),
      );
    const overlapping = await rotate(60);
    expect(overlapping).toMatchObject({ generation: 2, previousKeyHash: keyHash, keyPrefix: 'svc_87654321' });
    expect(overlapping.previousValidUntil?.getTime()).toBeGreaterThan(Date.now());
    expect(await rotate(0)).toMatchObject({ generation: 3, previousKeyHash: null, previousValidUntil: null });
  });

  it('revokes each key once', async () => {
    const { id } = await create();
    const revoke = () => opened.tenants.transaction(caller, (tx) => repository.revoke(tx, [id]));
    expect((await revoke()).map((row) => row.status)).toEqual(['revoked']);
    expect(await revoke()).toEqual([]);
  });
});
