import { randomBytes } from 'node:crypto';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner } from '../../test/users.js';
import { PasswordsRepository } from './passwords.repository.js';

describe('PasswordsRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let repository: PasswordsRepository;
  let worker: WorkerDatabase;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    repository = identity.app.get(PasswordsRepository, { strict: false });
    worker = identity.app.get(WorkerDatabase);
  }, 120_000);
  afterAll(() => testApp.stop());

  const run = <T>(work: (tx: WorkerTransaction) => Promise<T>) => worker.transaction(work);
  interface Account {
    hash: string;
    auth: number;
    reset: number;
    setup: boolean;
  }
  const accountOf = async (userId: string): Promise<Account> => {
    const [row] = await testApp.query<Account>(
      `select password_hash as hash, auth_epoch as auth, reset_epoch as reset, requires_setup as setup
       from user_account where id = $1`,
      [userId],
    );
    if (!row) throw new Error(`no account ${userId}`);
    return row;
  };
  const linkFor = async ({ userId, email }: { userId: string; email: string }) => {
    const tokenHash = randomBytes(32);
    expect(await run((tx) => repository.replaceLink(tx, userId, email, tokenHash))).toBe(true);
    return tokenHash;
  };

  it('replaces the expected hash, increments the epochs and completes the setup', async () => {
    const { userId } = await registerPartner(identity);
    await testApp.query('update user_account set requires_setup = true where id = $1', [userId]);
    const before = await accountOf(userId);
    expect(await run((tx) => repository.replace(tx, userId, 'new', 'another hash'))).toBe(false);
    expect(await accountOf(userId)).toEqual(before);
    expect(await run((tx) => repository.replace(tx, userId, 'new', before.hash))).toBe(true);
    const after = { hash: 'new', auth: before.auth + 1, reset: before.reset + 1, setup: false };
    expect(await accountOf(userId)).toEqual(after);
    expect(await run((tx) => repository.replace(tx, userId, 'newer', null))).toBe(true);
    expect((await accountOf(userId)).hash).toBe('newer');
  });

  it('stores a rehash unless the password changed, and keeps the epochs', async () => {
    const { userId } = await registerPartner(identity);
    const before = await accountOf(userId);
    await run((tx) => repository.rehash(tx, userId, 'rehashed', 'another hash'));
    expect(await accountOf(userId)).toEqual(before);
    await run((tx) => repository.rehash(tx, userId, 'rehashed', before.hash));
    expect(await accountOf(userId)).toEqual({ ...before, hash: 'rehashed' });
  });

  it('stores a link for an active account with this address and a password', async () => {
    const user = await registerPartner(identity);
    const store = (email: string) => run((tx) => repository.replaceLink(tx, user.userId, email, randomBytes(32)));
    expect(await store(freshEmail())).toBe(false);
    expect(await store(user.email)).toBe(true);
    await testApp.query('update user_account set password_hash = null where id = $1', [user.userId]);
    expect(await store(user.email)).toBe(false);
  });

  it('finds the newest link of a user until it is used once', async () => {
    const user = await registerPartner(identity);
    const older = await linkFor(user);
    const newest = await linkFor(user);
    expect(await repository.findLinkUserId(worker, older)).toBeNull();
    expect(await repository.findLinkUserId(worker, newest)).toBe(user.userId);
    const uses = await Promise.all([1, 2, 3].map(() => run((tx) => repository.useLink(tx, newest))));
    expect(uses.filter((userId) => userId === user.userId)).toHaveLength(1);
    expect(uses.filter((userId) => userId === null)).toHaveLength(2);
    expect(await repository.findLinkUserId(worker, newest)).toBeNull();
  });

  it('invalidates a link after an hour and by a new password', async () => {
    const [late, changed] = [await registerPartner(identity), await registerPartner(identity)];
    const [lateLink, changedLink] = [await linkFor(late), await linkFor(changed)];
    await testApp.query('update link_token set expires_at = now() where token_hash = $1', [lateLink]);
    await run((tx) => repository.replace(tx, changed.userId, 'new', null));
    for (const link of [lateLink, changedLink]) {
      expect(await repository.findLinkUserId(worker, link)).toBeNull();
      expect(await run((tx) => repository.useLink(tx, link))).toBeNull();
    }
  });
});
