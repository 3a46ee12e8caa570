import { randomBytes, randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller } from '../../test/callers.js';
import { FakeAudit } from '../../test/fakes.js';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { PasskeysRepository } from './passkeys.repository.js';
import { PasskeysService } from './passkeys.service.js';

describe('PasskeysService', () => {
  let database: IdentityTestDatabase;
  let service: PasskeysService;
  let audit: FakeAudit;
  let partnerId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    partnerId = await database.createPartner();
  }, 120_000);
  beforeEach(() => {
    audit = new FakeAudit();
    service = new PasskeysService(database.tenants, new PasskeysRepository(database.tenants), audit.asTrail);
  });
  afterAll(() => database?.stop());

  const createOwner = async () => partnerCaller(partnerId, await database.createUser());
  const add = (userId: string, name: string, created = new Date()) =>
    database.insert('passkey', {
      ...{ user_id: userId, name, credential_id: randomBytes(16), public_key: randomBytes(77), counter: 0 },
      ...{ device_type: 'multiDevice', backed_up: true, transports: ['internal'], created_at: created },
    });
  const namesOf = async (caller: Awaited<ReturnType<typeof createOwner>>, page = 1, limit = 10) =>
    (await service.list(caller, { page, limit })).data.map(({ name }) => name);

  it('lists the passkeys of the caller, newest first, without their keys', async () => {
    const caller = await createOwner();
    await add(caller.userId, 'Old', new Date(Date.now() - 60_000));
    const id = await add(caller.userId, 'New');
    await add((await createOwner()).userId, 'Foreign');
    const { data } = await service.list(caller, { page: 1, limit: 1 });
    expect(data).toEqual([
      {
        ...{ id, name: 'New', deviceType: 'multiDevice', backedUp: true, transports: ['internal'] },
        ...{ lastUsedAt: null, createdAt: expect.any(String) },
      },
    ]);
    expect([await namesOf(caller), await namesOf(caller, 2, 1)]).toEqual([['New', 'Old'], ['Old']]);
  });

  it('renames a passkey of the caller and audits it', async () => {
    const caller = await createOwner();
    const id = await add(caller.userId, 'Key');
    expect(await service.rename(caller, id, 'Blue key')).toMatchObject({ id, name: 'Blue key' });
    expect(audit.entries).toMatchObject([
      { action: 'auth.mfa.passkey.update', resource: { type: 'passkey', id, name: 'Blue key' } },
    ]);
  });

  it('renames no passkey of another user', async () => {
    const [owner, stranger] = [await createOwner(), await createOwner()];
    const id = await add(owner.userId, 'Key');
    await expect(service.rename(stranger, id, 'Taken')).rejects.toThrow(NotFoundError);
    await expect(service.rename(owner, randomUUID(), 'Unknown')).rejects.toThrow(NotFoundError);
    expect([await namesOf(owner), audit.entries]).toEqual([['Key'], []]);
  });
});
