import { TenantDatabase, WorkerDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, roleId, type TestUser } from '../../test/users.js';
import { InvitationsRepository, type InvitedMember } from './invitations.repository.js';

describe('InvitationsRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let invitations: InvitationsRepository;
  let first: TestUser;
  let second: TestUser;
  let viewer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    invitations = identity.app.get(InvitationsRepository);
    first = await registerPartner(identity, 'First MSP');
    second = await registerPartner(identity, 'Second MSP');
    viewer = await roleId(identity, first.bearer, 'Partner Viewer');
  }, 120_000);
  afterAll(() => testApp.stop());

  const run = <T>({ partnerId, userId }: TestUser, work: (tx: TenantTransaction) => Promise<T>) => {
    const caller: HasTenant = {
      tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId },
    };
    return identity.app.get(TenantDatabase).transaction(caller, work);
  };
  const invited = ({ partnerId }: TestUser, email: string): InvitedMember => ({
    scope: { kind: 'partner', partnerId },
    email,
    name: 'Robin',
    roleId: viewer,
    invitedBy: null,
    orgAccess: 'all',
    orgIds: [],
    siteIds: null,
    deviceGroupIds: null,
  });
  const invite = (admin: TestUser, email: string) =>
    invitations.withAccount(email, (existing) =>
      run(admin, (tx) => invitations.addMember(tx, existing, invited(admin, email))),
    );

  it('adds one account for an address that two partners invite at the same time', async () => {
    const email = freshEmail();
    const [one, two] = await Promise.all([invite(first, email), invite(second, email)]);
    expect(one).toMatchObject({ email, status: 'invited' });
    expect(two?.id).toBe(one?.id);
    expect(await invite(first, email)).toBeNull();
  });

  it('resolves a link to the membership it was sent for, else to another one, else to none', async () => {
    const email = freshEmail();
    const account = await invite(first, email);
    await invite(second, email);
    const userId = account?.id ?? '';
    const { keyHash } = mintLinkToken();
    await run(second, (tx) =>
      invitations.replaceToken(tx, userId, keyHash, { kind: 'partner', partnerId: second.partnerId }),
    );
    expect(await invitations.findOffer(keyHash)).toMatchObject({ userId, partnerName: 'Second MSP', used: false });
    await testApp.query('DELETE FROM partner_membership WHERE user_id = $1 AND partner_id = $2', [
      userId,
      second.partnerId,
    ]);
    expect(await invitations.findOffer(keyHash)).toMatchObject({ partnerName: 'First MSP' });
    await testApp.query('DELETE FROM partner_membership WHERE user_id = $1', [userId]);
    expect(await invitations.findOffer(keyHash)).toBeNull();
  });

  it('accepts a token once', async () => {
    const account = await invite(first, freshEmail());
    const { keyHash } = mintLinkToken();
    const scope = { kind: 'partner', partnerId: first.partnerId } as const;
    await run(first, (tx) => invitations.replaceToken(tx, account?.id ?? '', keyHash, scope));
    const accept = () =>
      identity.app
        .get(WorkerDatabase)
        .transaction((tx) => invitations.accept(tx, keyHash, { passwordHash: 'hash', name: null }));
    expect(await accept()).toBe(account?.id);
    expect(await accept()).toBeNull();
    expect(await invitations.findOffer(keyHash)).toMatchObject({ used: true, status: 'active' });
  });
});
