import { randomUUID } from 'node:crypto';
import {
  isUniqueViolation,
  TenantDatabase,
  WorkerDatabase,
  type HasTenant,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ADMIN, freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { UsersRepository } from './users.repository.js';

const avatar = { mime: 'image/webp', etag: 'first', bytes: Buffer.from('picture') };

describe('UsersRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let users: UsersRepository;
  let worker: WorkerDatabase;
  let tenants: TenantDatabase;
  let owner: TestUser;
  let caller: HasTenant;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    users = identity.app.get(UsersRepository);
    worker = identity.app.get(WorkerDatabase);
    tenants = identity.app.get(TenantDatabase);
    owner = await registerPartner(identity);
    const { partnerId, userId } = owner;
    caller = { tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId } };
  }, 120_000);
  afterAll(() => testApp.stop());

  it('reads a user with its memberships by address and by id', async () => {
    const user = await users.findByEmail(worker, owner.email);
    expect(user).toMatchObject({
      id: owner.userId,
      email: owner.email,
      status: 'active',
      mfaEnabled: false,
      memberships: [
        { scope: 'partner', partnerId: owner.partnerId, roleName: 'Partner Admin', partnerStatus: 'active' },
      ],
    });
    expect(await users.findById(worker, owner.userId)).toMatchObject({ email: owner.email });
    expect(await users.findByEmail(worker, 'unknown@users.test')).toBeNull();
  });

  it('reads the system scope of a platform administrator as a membership', async () => {
    const admin = await users.findByEmail(worker, ADMIN.email);
    expect(admin?.memberships).toEqual([
      expect.objectContaining({ id: null, scope: 'system', roleName: 'Platform Admin' }),
    ]);
    expect(await users.hasPlatformAdmin(worker)).toBe(true);
    expect(await worker.transaction((tx) => users.hasAnotherPlatformAdmin(tx, admin?.id ?? ''))).toBe(false);
  });

  it('inserts an invited account that a tenant cannot see without a membership', async () => {
    const email = freshEmail();
    const account = { id: randomUUID(), email, name: 'Invited' };
    await tenants.transaction(caller, (tx) => users.insertInvited(tx, account));
    expect(await users.findAccountByEmail(worker, email)).toEqual({ ...account, status: 'invited' });
    await expect(tenants.transaction(caller, (tx) => users.lock(tx, account.id))).rejects.toThrow(NotFoundError);
    const again = tenants.transaction(caller, (tx) => users.insertInvited(tx, { ...account, id: randomUUID() }));
    const error: unknown = await again.catch((cause: unknown) => cause);
    expect(isUniqueViolation(error, 'user_account_email_key')).toBe(true);
  });

  it('changes an account that the caller can see', async () => {
    const changes = { name: 'Renamed', status: 'active', disabledReason: null } as const;
    const changed = await tenants.transaction(caller, (tx) => users.change(tx, owner.userId, changes));
    expect(changed).toMatchObject({ id: owner.userId, name: 'Renamed' });
  });

  describe('profile and avatar', () => {
    const run = <T>(work: (tx: TenantTransaction) => Promise<T>) => tenants.transaction(caller, work);

    it('stores name and preferences of a locked profile', async () => {
      const stored = await run(async (tx) => {
        const before = await users.lockProfile(tx, owner.userId);
        await users.updateProfile(tx, owner.userId, { name: 'Renamed', preferences: { theme: 'dark' } });
        return { before, after: await users.lockProfile(tx, owner.userId) };
      });
      expect(stored).toEqual({
        before: { name: expect.any(String), preferences: {} },
        after: { name: 'Renamed', preferences: { theme: 'dark' } },
      });
    });

    it('replaces an avatar, and leaves out its bytes when the ETag is known', async () => {
      await run((tx) => users.replaceAvatar(tx, owner.userId, avatar));
      const changedAt = await run((tx) => users.replaceAvatar(tx, owner.userId, { ...avatar, etag: 'second' }));
      expect(changedAt).toBeInstanceOf(Date);
      expect(await users.findAvatar(caller, owner.userId, ['first'])).toEqual({ ...avatar, etag: 'second' });
      for (const known of ['second', '*']) {
        expect(await users.findAvatar(caller, owner.userId, [known])).toMatchObject({ etag: 'second', bytes: null });
      }
    });

    it('hides avatars from other tenants, and deletes them', async () => {
      await run((tx) => users.replaceAvatar(tx, owner.userId, avatar));
      const { partnerId, userId } = await registerPartner(identity, 'Other MSP');
      const stranger: HasTenant = { tenant: { ...caller.tenant, partnerId, userId } };
      expect(await users.findAvatar(stranger, owner.userId, [])).toBeNull();
      await run((tx) => users.deleteAvatar(tx, owner.userId));
      expect(await users.findAvatar(caller, owner.userId, [])).toBeNull();
    });

    it('sets the URL of the avatar and returns the name of the user', async () => {
      const name = await run((tx) => users.setAvatarUrl(tx, owner.userId, '/picture'));
      const [row] = await testApp.query('SELECT name, avatar_url FROM user_account WHERE id = $1', [owner.userId]);
      expect(row).toEqual({ name, avatar_url: '/picture' });
      const unknown = '7d9f2c1e-0000-4000-8000-000000000000';
      expect(await run((tx) => users.setAvatarUrl(tx, unknown, null))).toBeNull();
    });
  });
});
