import { randomBytes, randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { EnrollmentKeyNotFound } from './enrollment-key.errors.js';
import { EnrollmentKeysRepository } from './enrollment-keys.repository.js';

describe('EnrollmentKeysRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: EnrollmentKeysRepository;
  const partnerId = randomUUID();
  const caller = buildPartnerCaller(partnerId);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new EnrollmentKeysRepository(opened.tenants);
  });
  afterAll(() => opened.stop());

  const create = (orgId: string, expiresInMs = 60_000) =>
    opened.tenants.transaction(caller, (tx) =>
      repository.create(tx, {
        partnerId,
        orgId,
        siteId: null,
        name: 'Roll-out',
        keyHash: randomBytes(32),
        maxUsage: 2,
        expiresAt: new Date(Date.now() + expiresInMs),
        createdBy: null,
      }),
    );

  it('lists newest first and filters by expiry', async () => {
    const orgId = await opened.createOrganization(partnerId);
    const expired = await create(orgId, -1_000);
    const active = await create(orgId);
    const ids = async (expiredOnly?: boolean) =>
      (await repository.list(caller, { orgId, expired: expiredOnly, page: 1, limit: 10 })).rows.map((row) => row.id);
    expect(await ids()).toEqual([active.id, expired.id]);
    expect(await ids(true)).toEqual([expired.id]);
    expect(await ids(false)).toEqual([active.id]);
  });

  it('resets the usage count and starts a new generation on rotation', async () => {
    const { id } = await create(await opened.createOrganization(partnerId));
    await opened.worker.query('UPDATE enrollment_key SET usage_count = 2 WHERE id = :id', { id });
    const next = { keyHash: randomBytes(32), maxUsage: null, expiresAt: new Date(Date.now() + 60_000) };
    const rotated = await opened.tenants.transaction(caller, (tx) => repository.rotate(tx, id, next));
    expect(rotated).toMatchObject({ ...next, usageCount: 0, generation: 2 });
  });

  it('removes the expired keys of an organization only', async () => {
    const orgId = await opened.createOrganization(partnerId);
    const [expired, active, other] = [
      await create(orgId, -1_000),
      await create(orgId),
      await create(await opened.createOrganization(partnerId), -1),
    ];
    const removed = await opened.tenants.transaction(caller, (tx) => repository.removeExpired(tx, caller, orgId));
    expect(removed).toEqual([expired.id]);
    await expect(repository.get(caller, expired.id)).rejects.toThrow(EnrollmentKeyNotFound);
    expect([await repository.get(caller, active.id), await repository.get(caller, other.id)]).toHaveLength(2);
  });
});
