import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, roleId } from '../../test/users.js';
import { RegistrationsRepository, type RegistrationForm } from './registrations.repository.js';

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
});
