import { randomBytes, randomUUID } from 'node:crypto';
import { TenantDatabase, WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { PasskeysRepository, type NewPasskey } from './passkeys.repository.js';

describe('PasskeysRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let repository: PasskeysRepository;
  let worker: WorkerDatabase;
  let tenants: TenantDatabase;
  let user: TestUser;
  let other: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    repository = identity.app.get(PasskeysRepository, { strict: false });
    worker = identity.app.get(WorkerDatabase);
    tenants = identity.app.get(TenantDatabase);
    [user, other] = [await registerPartner(identity), await registerPartner(identity)];
  }, 120_000);
  afterAll(() => testApp.stop());

  const callerOf = ({ partnerId, userId }: TestUser) => ({
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId } as const,
  });
  const runAs = <T>(caller: TestUser, work: (tx: TenantTransaction) => Promise<T>) =>
    tenants.transaction(callerOf(caller), work);
  const passkey = (changes: Partial<NewPasskey> = {}): NewPasskey => ({
    userId: user.userId,
    credentialId: randomBytes(32),
    publicKey: randomBytes(77),
    counter: 0,
    name: 'Key',
    deviceType: 'multiDevice',
    backedUp: false,
    transports: ['internal', 'hybrid'],
    ...changes,
  });
  const add = (changes: Partial<NewPasskey> = {}) => runAs(user, (tx) => repository.add(tx, passkey(changes)));
  const use = (passkeyId: string, counter: number, backedUp = false) =>
    worker.transaction((tx) => repository.recordUse(tx, { passkeyId, counter, backedUp }));

  it('stores a passkey and finds it by its credential id', async () => {
    const given = passkey({ counter: 4_294_967_295 });
    const stored = await runAs(user, (tx) => repository.add(tx, given));
    expect(stored).toMatchObject({ ...given, lastUsedAt: null, createdAt: expect.any(Date) });
    expect(await repository.findByCredentialId(worker, given.credentialId)).toEqual(stored);
    expect(await repository.findByCredentialId(worker, randomBytes(32))).toBeNull();
  });

  it('stores a credential id once over all users', async () => {
    const { credentialId } = await add();
    await expect(
      runAs(other, (tx) => repository.add(tx, passkey({ userId: other.userId, credentialId }))),
    ).rejects.toThrow('passkey_credential_key');
  });

  it('lists, counts and reads the passkeys of one user', async () => {
    const { id } = await add();
    const count = await repository.countOf(callerOf(user), user.userId);
    expect(await repository.listOf(callerOf(user), user.userId)).toHaveLength(count);
    const page = await repository.listPageOf(callerOf(user), user.userId, { page: 1, limit: 1 });
    expect(page).toMatchObject({ rows: [{ id }], total: count });
    expect(await repository.hasAny(worker, user.userId)).toBe(true);
    expect(await repository.hasAny(worker, other.userId)).toBe(false);
    expect(await repository.getOf(callerOf(user), user.userId, id)).toMatchObject({ id });
    await expect(repository.getOf(callerOf(other), other.userId, id)).rejects.toThrow(NotFoundError);
    expect(await repository.listOf(callerOf(other), user.userId)).toEqual([]);
  });

  it('renames and deletes a passkey of its user only', async () => {
    const { id } = await add();
    await expect(runAs(other, (tx) => repository.rename(tx, other.userId, id, 'Taken'))).rejects.toThrow(NotFoundError);
    expect(await runAs(user, (tx) => repository.rename(tx, user.userId, id, 'Mine'))).toMatchObject({
      id,
      name: 'Mine',
    });
    expect(await runAs(other, (tx) => repository.remove(tx, other.userId, id))).toBe(false);
    const removed = await Promise.all([1, 2].map(() => runAs(user, (tx) => repository.remove(tx, user.userId, id))));
    expect(removed.sort()).toEqual([false, true]);
  });

  it('records a use whose counter rises, and backup state and time with it', async () => {
    const { id, credentialId } = await add({ counter: 5 });
    expect(await use(id, 5)).toBe(false);
    expect(await use(id, 4)).toBe(false);
    expect(await use(id, 0)).toBe(false);
    expect(await use(id, 6, true)).toBe(true);
    const stored = await repository.findByCredentialId(worker, credentialId);
    expect(stored).toMatchObject({ counter: 6, backedUp: true, lastUsedAt: expect.any(Date) });
    expect(await use(randomUUID(), 1)).toBe(false);
  });

  it('records uses without a counter, until there is one', async () => {
    const { id } = await add();
    expect([await use(id, 0), await use(id, 0), await use(id, 1), await use(id, 0)]).toEqual([true, true, true, false]);
  });

  it('records a counter once for concurrent uses', async () => {
    const { id } = await add();
    const uses = await Promise.all(Array.from({ length: 20 }, () => use(id, 9)));
    expect(uses.filter((recorded) => recorded)).toHaveLength(1);
  });
});
