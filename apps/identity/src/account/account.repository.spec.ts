import { TenantDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { AccountRepository } from './account.repository.js';

const avatar = { mime: 'image/webp', etag: 'first', bytes: Buffer.from('picture') };

describe('AccountRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let accounts: AccountRepository;
  let owner: TestUser;
  let caller: HasTenant;

  const callerOf = ({ partnerId, userId }: TestUser): HasTenant => ({
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId },
  });
  const run = <T>(work: (tx: TenantTransaction) => Promise<T>) =>
    identity.app.get(TenantDatabase).transaction(caller, work);

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    accounts = identity.app.get(AccountRepository);
    owner = await registerPartner(identity);
    caller = callerOf(owner);
  }, 120_000);
  afterAll(() => testApp.stop());

  it('stores name and preferences of a locked profile', async () => {
    const stored = await run(async (tx) => {
      const before = await accounts.lockProfile(tx, owner.userId);
      await accounts.updateProfile(tx, owner.userId, { name: 'Renamed', preferences: { theme: 'dark' } });
      return { before, after: await accounts.lockProfile(tx, owner.userId) };
    });
    expect(stored).toEqual({
      before: { name: 'Pat Morgan', preferences: {} },
      after: { name: 'Renamed', preferences: { theme: 'dark' } },
    });
  });

  it('replaces an avatar, and leaves out its bytes when the ETag is known', async () => {
    await run((tx) => accounts.replaceAvatar(tx, owner.userId, avatar));
    const changedAt = await run((tx) => accounts.replaceAvatar(tx, owner.userId, { ...avatar, etag: 'second' }));
    expect(changedAt).toBeInstanceOf(Date);
    expect(await accounts.findAvatar(caller, owner.userId, ['first'])).toEqual({ ...avatar, etag: 'second' });
    for (const known of ['second', '*']) {
      expect(await accounts.findAvatar(caller, owner.userId, [known])).toMatchObject({ etag: 'second', bytes: null });
    }
  });

  it('hides avatars from other tenants, and deletes them', async () => {
    await run((tx) => accounts.replaceAvatar(tx, owner.userId, avatar));
    const stranger = callerOf(await registerPartner(identity, 'Other MSP'));
    expect(await accounts.findAvatar(stranger, owner.userId, [])).toBeNull();
    await run((tx) => accounts.deleteAvatar(tx, owner.userId));
    expect(await accounts.findAvatar(caller, owner.userId, [])).toBeNull();
  });

  it('sets the URL of the avatar and returns the name of the user', async () => {
    const name = await run((tx) => accounts.setAvatarUrl(tx, owner.userId, '/picture'));
    const [row] = await testApp.query('SELECT name, avatar_url FROM user_account WHERE id = $1', [owner.userId]);
    expect(row).toEqual({ name, avatar_url: '/picture' });
    const unknown = '7d9f2c1e-0000-4000-8000-000000000000';
    expect(await run((tx) => accounts.setAvatarUrl(tx, unknown, null))).toBeNull();
  });

  it('counts the unused recovery codes of the caller', async () => {
    expect(await accounts.countRecoveryCodes(caller, owner.userId)).toBe(0);
    await testApp.query(
      `INSERT INTO recovery_code (user_id, code_hash) VALUES ($1, decode('01', 'hex')), ($1, decode('02', 'hex'))`,
      [owner.userId],
    );
    expect(await accounts.countRecoveryCodes(caller, owner.userId)).toBe(2);
  });
});
