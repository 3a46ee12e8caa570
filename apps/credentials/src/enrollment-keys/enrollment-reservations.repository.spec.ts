import { randomBytes, randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { EnrollmentKeysRepository } from './enrollment-keys.repository.js';
import { EnrollmentReservationsRepository } from './enrollment-reservations.repository.js';

describe('EnrollmentReservationsRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: EnrollmentReservationsRepository;

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new EnrollmentReservationsRepository(opened.worker);
  });
  afterAll(() => opened.stop());

  /** Creates an enrollment key with one use. */
  async function createKey() {
    const partnerId = randomUUID();
    const keyHash = randomBytes(32);
    const expiresAt = new Date(Date.now() + 60_000);
    const orgId = await opened.createOrganization(partnerId);
    const { id } = await opened.tenants.transaction(buildPartnerCaller(partnerId), (tx) =>
      new EnrollmentKeysRepository(opened.tenants).create(tx, {
        partnerId,
        orgId,
        siteId: null,
        name: 'k',
        keyHash,
        maxUsage: 1,
        expiresAt,
        createdBy: null,
      }),
    );
    return { id, hashes: [keyHash.toString('hex')] };
  }
  const reserve = (keyId: string, hashes: string[], deviceId: string) =>
    opened.worker.transaction((tx) => repository.reserve(tx, keyId, hashes, deviceId));

  it('takes the last use once and returns it on release', async () => {
    const { id, hashes } = await createKey();
    const [first, second] = [randomUUID(), randomUUID()];
    expect(await reserve(id, hashes, first)).toBe(true);
    expect(await reserve(id, hashes, second)).toBe(false);
    expect(await repository.release(first)).toBe(true);
    expect(await repository.release(first)).toBe(false);
    expect(await reserve(id, hashes, second)).toBe(true);
  });

  it('finds a reservation of a device until it is released', async () => {
    const { id, hashes } = await createKey();
    const deviceId = randomUUID();
    const isReserved = () => opened.worker.transaction((tx) => repository.isReserved(tx, deviceId, id));
    expect(await isReserved()).toBe(false);
    await reserve(id, hashes, deviceId);
    expect(await isReserved()).toBe(true);
    await repository.release(deviceId);
    expect(await isReserved()).toBe(false);
  });

  it('lists old reservations that are not settled', async () => {
    const { id, hashes } = await createKey();
    const deviceId = randomUUID();
    await reserve(id, hashes, deviceId);
    expect(await repository.listUnsettled(30, 10)).not.toContain(deviceId);
    expect(await repository.listUnsettled(0, 10)).toContain(deviceId);
    await repository.confirm(deviceId);
    expect(await repository.listUnsettled(0, 10)).not.toContain(deviceId);
  });
});
