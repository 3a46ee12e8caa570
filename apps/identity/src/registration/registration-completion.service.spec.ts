import { PROVISIONING_ORGANIZATIONS_ENSURE_FIRST } from '@rmm/contracts';
import { AuditTrail, NatsLink } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner } from '../../test/users.js';
import { RegistrationCompletionService } from './registration-completion.service.js';
import { RegistrationsRepository } from './registrations.repository.js';

describe('RegistrationCompletionService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let completion: RegistrationCompletionService;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    completion = identity.app.get(RegistrationCompletionService);
  }, 120_000);
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => testApp.stop());

  /** Stores a registration and returns the hash of its token. */
  const register = async (email: string, companyName = 'Acme MSP') => {
    const { keyHash } = mintLinkToken();
    const form = { companyName, email, name: 'Pat Morgan', passwordHash: 'hash', ipAddress: null, userAgent: null };
    await identity.app
      .get(WorkerDatabase)
      .transaction((tx) => identity.app.get(RegistrationsRepository).insertPending(tx, keyHash, form));
    return keyHash;
  };
  const partnersOf = (email: string) =>
    testApp.query<{ name: string }>(
      `SELECT p.name FROM partner p JOIN partner_membership m ON m.partner_id = p.id
       JOIN user_account u ON u.id = m.user_id WHERE u.email = $1`,
      [email],
    );

  it('creates the partner and logs its administrator in, also without provisioning', async () => {
    const email = freshEmail();
    const completed = await completion.complete(await register(email));
    expect(completed).toMatchObject({
      verified: true,
      partner: { name: 'Acme MSP', slug: 'acme-msp' },
      login: { body: { user: { email }, tokens: { accessToken: expect.any(String) } } },
    });
    expect(await partnersOf(email)).toEqual([{ name: 'Acme MSP' }]);
  });

  it('asks provisioning for the first organization before it returns', async () => {
    const link = new NatsLink({ url: testApp.nats.urlFor('provisioning'), name: 'provisioning-spec' });
    await link.open();
    const requests: unknown[] = [];
    link.connection.subscribe(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST.subject, {
      callback: (_, message) => {
        requests.push(message.json());
        message.respond(JSON.stringify({ value: { orgId: null } }));
      },
    });
    await link.connection.flush();
    const completed = await completion.complete(await register(freshEmail(), 'First Steps'));
    const { partner } = completed as { partner: { id: string } };
    expect(requests).toEqual([{ partnerId: partner.id, companyName: 'First Steps', partnerSlug: 'first-steps' }]);
    await link.close();
  });

  it('returns null for a token that no registration has, and for one that was used', async () => {
    const tokenHash = await register(freshEmail());
    expect(await completion.complete(mintLinkToken().keyHash)).toBeNull();
    expect(await completion.complete(tokenHash)).toMatchObject({ verified: true });
    expect(await completion.complete(tokenHash)).toBeNull();
  });

  it('creates nothing for an address that has a user by now', async () => {
    const { email } = await registerPartner(identity, 'Known MSP');
    expect(await completion.complete(await register(email, 'Second MSP'))).toBe('taken');
    expect(await partnersOf(email)).toEqual([{ name: 'Known MSP' }]);
    await eventually(async () =>
      expect(
        await testApp.query(
          `select result, details from audit_entry where action = 'auth.email_verify_failed' and actor_email = $1`,
          [email],
        ),
      ).toEqual([{ result: 'failure', details: { reason: 'address_taken' } }]),
    );
  });

  it('keeps the registration when its completion fails, so that the link works again', async () => {
    const email = freshEmail();
    const tokenHash = await register(email, 'Second Attempt');
    const failing = jest
      .spyOn(identity.app.get(AuditTrail), 'record')
      .mockRejectedValueOnce(new Error('no audit entry'));
    await expect(completion.complete(tokenHash)).rejects.toThrow('no audit entry');
    expect(failing).toHaveBeenCalled();
    expect(await partnersOf(email)).toEqual([]);
    expect(await completion.complete(tokenHash)).toMatchObject({ partner: { name: 'Second Attempt' } });
  });
});
