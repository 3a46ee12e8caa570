import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { ADMIN, freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { EmailLinksRepository, type EmailLinkPurpose } from './email-links.repository.js';

describe('EmailLinksRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let links: EmailLinksRepository;
  let owner: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    links = identity.app.get(EmailLinksRepository);
  }, 120_000);
  beforeEach(async () => {
    owner = await registerPartner(identity);
  });
  afterAll(() => testApp.stop());

  const run = <T>(work: (tx: WorkerTransaction) => Promise<T>) => identity.app.get(WorkerDatabase).transaction(work);
  const account = async () => {
    const [row] = await testApp.query<{ email: string; pending: string | null; epoch: number; auth: number }>(
      `SELECT email, pending_email AS pending, email_epoch AS epoch, auth_epoch AS auth
       FROM user_account WHERE id = $1`,
      [owner.userId],
    );
    return row;
  };
  /** Stores a link of the current e-mail epoch and returns its hash. */
  const store = async (purpose: EmailLinkPurpose = 'email_verification') => {
    const { keyHash } = mintLinkToken();
    const { epoch } = await account();
    await run((tx) => links.replace(tx, { userId: owner.userId, purpose, tokenHash: keyHash, epoch }));
    return keyHash;
  };
  const use = (tokenHash: Buffer) => run((tx) => links.use(tx, tokenHash));

  it('gives a link to one of several callers', async () => {
    const tokenHash = await store();
    const used = await Promise.all([1, 2, 3].map(() => use(tokenHash)));
    expect(used.filter((link) => link !== null)).toEqual([{ userId: owner.userId, purpose: 'email_verification' }]);
  });

  it("replaces the user's previous link of the purpose", async () => {
    const first = await store();
    const second = await store();
    expect(await use(first)).toBeNull();
    expect(await use(second)).not.toBeNull();
  });

  it.each([
    ['has expired', `UPDATE link_token SET expires_at = now() WHERE user_id = $1`],
    ['is of an older e-mail epoch', `UPDATE user_account SET email_epoch = email_epoch + 1 WHERE id = $1`],
    ['is of a disabled user', `UPDATE user_account SET status = 'disabled' WHERE id = $1`],
    [
      'changes the address, and the password has changed since',
      `UPDATE user_account SET password_changed_at = now() + INTERVAL '1 second' WHERE id = $1`,
    ],
  ])('refuses a link that %s', async (_, sql) => {
    const tokenHash = await store('email_change');
    await testApp.query(sql, [owner.userId]);
    expect(await use(tokenHash)).toBeNull();
  });

  it('stores a requested address and invalidates older links, unless the sessions have ended since', async () => {
    const older = await store('email_change');
    const { epoch, auth } = await account();
    const email = freshEmail();
    const request = (authEpoch: number) =>
      run((tx) => links.requestChange(tx, { userId: owner.userId, email, authEpoch }));
    expect(await request(auth - 1)).toBeNull();
    expect(await request(auth)).toEqual({ epoch: epoch + 1, requestedAt: expect.any(Date) });
    expect(await account()).toMatchObject({ email: owner.email, pending: email });
    expect(await use(older)).toBeNull();
  });

  it('sets a new address with new epochs, unless another user has it', async () => {
    const before = await account();
    const email = freshEmail();
    await run((tx) => links.commitChange(tx, owner.userId, email));
    expect(await account()).toEqual({ email, pending: null, epoch: before.epoch + 1, auth: before.auth + 1 });
    const taken: unknown = await run((tx) => links.commitChange(tx, owner.userId, ADMIN.email)).catch(
      (error: unknown) => error,
    );
    expect(isUniqueViolation(taken, 'user_account_email_key')).toBe(true);
  });

  it('locks an account until its address is verified', async () => {
    const lock = () => run((tx) => links.lockUnverified(tx, owner.userId));
    expect(await lock()).toBeNull();
    await testApp.query('UPDATE user_account SET email_verified_at = NULL WHERE id = $1', [owner.userId]);
    expect(await lock()).toMatchObject({ email: owner.email });
    await run((tx) => links.markVerified(tx, owner.userId));
    expect(await lock()).toBeNull();
  });

  it('reads the user of a link with its memberships', async () => {
    const user = await run((tx) => links.findUser(tx, owner.userId));
    expect(user).toMatchObject({ email: owner.email, memberships: [{ partnerId: owner.partnerId }] });
  });
});
