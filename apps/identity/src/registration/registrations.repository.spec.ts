import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { ADMIN, freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, roleId, type TestUser } from '../../test/users.js';
import { RegistrationsRepository, type EmailLinkPurpose, type RegistrationForm } from './registrations.repository.js';

const form = (email = freshEmail()): RegistrationForm => ({
  companyName: 'Acme MSP',
  email,
  name: 'Pat Morgan',
  passwordHash: 'hash',
  ipAddress: '203.0.113.9',
  userAgent: null,
});

describe('RegistrationsRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let registrations: RegistrationsRepository;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    registrations = identity.app.get(RegistrationsRepository);
  }, 120_000);
  afterAll(() => testApp.stop());

  const run = <T>(work: (tx: WorkerTransaction) => Promise<T>) => identity.app.get(WorkerDatabase).transaction(work);
  const store = async (stored = form()) => {
    const { keyHash } = mintLinkToken();
    await run((tx) => registrations.insertPending(tx, keyHash, stored));
    return keyHash;
  };
  const consume = (tokenHash: Buffer) => run((tx) => registrations.consume(tx, tokenHash));

  it('returns a registration to one of several callers', async () => {
    const stored = form();
    const tokenHash = await store(stored);
    const consumed = await Promise.all([1, 2, 3].map(() => consume(tokenHash)));
    expect(consumed.filter((found) => found !== null)).toEqual([stored]);
  });

  it('returns no expired registration, and deletes it', async () => {
    const [expired, valid] = [await store(), await store()];
    await testApp.query('UPDATE pending_registration SET expires_at = now() WHERE token_hash = $1', [expired]);
    expect(await consume(expired)).toBeNull();
    await registrations.deleteExpired(identity.app.get(WorkerDatabase));
    const rows = await testApp.query<{ token_hash: Buffer }>('SELECT token_hash FROM pending_registration');
    expect(rows.map(({ token_hash: hash }) => hash)).toEqual([valid]);
  });

  it('inserts one user per address, and makes it a member with all organizations', async () => {
    const { bearer, partnerId } = await registerPartner(identity);
    const admin = await roleId(identity, bearer, 'Partner Admin');
    const stored = form();
    const userId = await run(async (tx) => {
      const id = (await registrations.insertUser(tx, stored)) ?? '';
      await registrations.insertAdmin(tx, { partnerId, userId: id, roleId: admin });
      return id;
    });
    expect(await run((tx) => registrations.insertUser(tx, stored))).toBeNull();
    const members = await testApp.query('SELECT user_id, org_access FROM partner_membership WHERE user_id = $1', [
      userId,
    ]);
    expect(members).toEqual([{ user_id: userId, org_access: 'all' }]);
  });

  describe('links that verify an e-mail address', () => {
    let owner: TestUser;

    beforeEach(async () => {
      owner = await registerPartner(identity);
    });

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
      await run((tx) =>
        registrations.replaceEmailLink(tx, { userId: owner.userId, purpose, tokenHash: keyHash, epoch }),
      );
      return keyHash;
    };
    const use = (tokenHash: Buffer) => run((tx) => registrations.useEmailLink(tx, tokenHash));

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
        run((tx) => registrations.requestChange(tx, { userId: owner.userId, email, authEpoch }));
      expect(await request(auth - 1)).toBeNull();
      expect(await request(auth)).toEqual({ epoch: epoch + 1, requestedAt: expect.any(Date) });
      expect(await account()).toMatchObject({ email: owner.email, pending: email });
      expect(await use(older)).toBeNull();
    });

    it('sets a new address with new epochs, unless another user has it', async () => {
      const before = await account();
      const email = freshEmail();
      await run((tx) => registrations.commitChange(tx, owner.userId, email));
      expect(await account()).toEqual({ email, pending: null, epoch: before.epoch + 1, auth: before.auth + 1 });
      const taken: unknown = await run((tx) => registrations.commitChange(tx, owner.userId, ADMIN.email)).catch(
        (error: unknown) => error,
      );
      expect(isUniqueViolation(taken, 'user_account_email_key')).toBe(true);
    });

    it('locks an account until its address is verified', async () => {
      const lock = () => run((tx) => registrations.lockUnverified(tx, owner.userId));
      expect(await lock()).toBeNull();
      await testApp.query('UPDATE user_account SET email_verified_at = NULL WHERE id = $1', [owner.userId]);
      expect(await lock()).toMatchObject({ email: owner.email });
      await run((tx) => registrations.markVerified(tx, owner.userId));
      expect(await lock()).toBeNull();
    });

    it('reads a user with its memberships', async () => {
      const user = await run((tx) => registrations.findUser(tx, owner.userId));
      expect(user).toMatchObject({ email: owner.email, memberships: [{ partnerId: owner.partnerId }] });
    });
  });
});
