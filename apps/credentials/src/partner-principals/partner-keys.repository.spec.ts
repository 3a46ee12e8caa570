import { randomBytes, randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { PartnerKeysRepository, SHOWN_REVOKED_KEYS } from './partner-keys.repository.js';
import { PartnerKeyNotFound } from './partner-principal.errors.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';

describe('PartnerKeysRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: PartnerKeysRepository;
  let principalId: string;
  const partnerId = randomUUID();
  const caller = buildPartnerCaller(partnerId);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new PartnerKeysRepository(opened.tenants);
    const principal = { partnerId, name: 'P', description: null, scopes: [], expiresAt: null, sourceCidrs: [] };
    ({ id: principalId } = await opened.tenants.transaction(caller, (tx) =>
      new PartnerPrincipalsRepository(opened.tenants).create(tx, { ...principal, createdBy: null }),
    ));
  });
  afterAll(() => opened.stop());

  const create = (name: string) => {
    const key = { principalId, partnerId, name, keyPrefix: 'svc_sp_12345678901', expiresAt: null, rateLimit: 600 };
    return opened.tenants.transaction(caller, (tx) =>
      repository.create(tx, { ...key, keyHash: randomBytes(32), createdBy: null }),
    );
  };

  it('lists keys oldest first, with hashes inside a transaction only', async () => {
    const first = await create('first');
    await create('second');
    const listed = await repository.listOfPrincipals(caller, [principalId]);
    expect(listed.map((key) => key.name)).toEqual(['first', 'second']);
    expect(listed[0]).not.toHaveProperty('keyHash');
    const locked = await opened.tenants.transaction(caller, (tx) => repository.listActiveWithHashes(tx, principalId));
    expect(locked[0]?.keyHash).toEqual(first.keyHash);
  });

  it('lists the active keys and the last revoked ones', async () => {
    const active = await create('kept');
    const revoked: string[] = [];
    for (let n = 0; n <= SHOWN_REVOKED_KEYS; n += 1) {
      const { id } = await create('ended');
      await opened.tenants.transaction(caller, (tx) => repository.revoke(tx, id));
      revoked.push(id);
    }
    const ids = (await repository.listOfPrincipals(caller, [principalId])).map((key) => key.id);
    expect(ids).toEqual(expect.arrayContaining([active.id, ...revoked.slice(1)]));
    expect(ids).not.toContain(revoked[0]);
  });

  it('stores when a key was revoked', async () => {
    const { id } = await create('revoked');
    await opened.tenants.transaction(caller, (tx) => repository.revoke(tx, id));
    const key = await opened.tenants.transaction(caller, (tx) => repository.lock(tx, principalId, id));
    expect(key).toMatchObject({ status: 'revoked', revokedAt: expect.any(Date) as Date });
  });

  it('throws PartnerKeyNotFound for a key of another principal', async () => {
    const { id } = await create('other');
    const lock = opened.tenants.transaction(caller, (tx) => repository.lock(tx, randomUUID(), id));
    await expect(lock).rejects.toThrow(PartnerKeyNotFound);
  });
});
