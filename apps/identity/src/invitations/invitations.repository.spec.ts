import {
  TenantDatabase,
  WorkerDatabase,
  type HasTenant,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, roleId, type TestUser } from '../../test/users.js';
import { InvitationLinksService } from './invitation-links.service.js';
import { InvitationsRepository, type NewInvitation } from './invitations.repository.js';

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

  const callerOf = ({ partnerId, userId }: TestUser): HasTenant => ({
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId },
  });
  const run = <T>(admin: TestUser, statements: (tx: TenantTransaction) => Promise<T>) =>
    identity.app.get(TenantDatabase).transaction(callerOf(admin), statements);
  const invited = ({ partnerId }: TestUser, email: string): NewInvitation => ({
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
  const invite = (admin: TestUser, email: string, tokenHash = mintLinkToken().keyHash) =>
    identity.app
      .get(InvitationLinksService)
      .withAccount(email, (existing) =>
        run(admin, (tx) => invitations.open(tx, existing, invited(admin, email), { tokenHash, mailed: true })),
      );
  const scopeOf = ({ partnerId }: TestUser) => ({ kind: 'partner', partnerId }) as const;
  const work = <T>(statements: (tx: WorkerTransaction) => Promise<T>) =>
    identity.app.get(WorkerDatabase).transaction(statements);

  it('adds one account for an address that two partners invite at the same time', async () => {
    const email = freshEmail();
    const [one, two] = await Promise.all([invite(first, email), invite(second, email)]);
    expect(one).toEqual(expect.any(String));
    expect(two).toBe(one);
    expect(await invite(first, email)).toBeNull();
  });

  it('resolves a link to the invitation it was sent for, and to no other', async () => {
    const email = freshEmail();
    const [one, two] = [mintLinkToken().keyHash, mintLinkToken().keyHash];
    const userId = (await invite(first, email, one)) ?? '';
    await invite(second, email, two);
    expect(await invitations.findOffer(one)).toMatchObject({ userId, partnerName: 'First MSP', used: false });
    expect(await invitations.findOffer(two)).toMatchObject({ userId, partnerName: 'Second MSP', used: false });
    const tenant = { partnerId: second.partnerId, orgId: null };
    expect(await run(second, (tx) => invitations.remove(tx, tenant, userId))).toBe(true);
    expect(await invitations.findOffer(two)).toBeNull();
    expect(await invitations.findOffer(one)).toMatchObject({ partnerName: 'First MSP' });
  });

  it('lists open invitations to their tenant, and all of a user to that user', async () => {
    const email = freshEmail();
    const userId = (await invite(first, email)) ?? '';
    await invite(second, email);
    const caller = { ...callerOf(first), siteIds: null, deviceGroupIds: null };
    const listed = await invitations.list(caller, scopeOf(first), { page: 1, limit: 100 });
    expect(listed.rows.filter(({ id }) => id === userId)).toEqual([
      expect.objectContaining({ email, name: 'Robin', roleId: viewer, expiresAt: expect.any(Date) }),
    ]);
    const foreign = await invitations.list(caller, scopeOf(second), { page: 1, limit: 100 });
    expect(foreign).toEqual({ total: 0, rows: [] });
    const own = await invitations.listOfUser(identity.app.get(WorkerDatabase), userId);
    expect(own.map(({ partnerName }) => partnerName)).toEqual(['Second MSP', 'First MSP']);
  });

  it('activates an account once, and verifies the address only when the link was mailed', async () => {
    for (const mailed of [true, false]) {
      const email = freshEmail();
      const { keyHash } = mintLinkToken();
      const userId = (await invite(first, email, keyHash)) ?? '';
      await testApp.query('UPDATE invitation SET mailed = $2 WHERE user_id = $1', [userId, mailed]);
      const activate = () =>
        work((tx) => invitations.activate(tx, keyHash, userId, { passwordHash: 'hash', name: null }));
      expect([await activate(), await activate()]).toEqual([true, false]);
      const [account] = await testApp.query(
        'SELECT status, email_verified_at IS NOT NULL AS verified FROM user_account WHERE id = $1',
        [userId],
      );
      expect(account).toEqual({ status: 'active', verified: mailed });
    }
  });

  it('makes the user a member once, for one of 20 concurrent calls', async () => {
    const { keyHash } = mintLinkToken();
    const userId = (await invite(first, freshEmail(), keyHash)) ?? '';
    const accept = () => work((tx) => invitations.accept(tx, keyHash, userId));
    const results = await Promise.all(Array.from({ length: 20 }, accept));
    expect(results.filter((tenant) => tenant !== null)).toEqual([{ partnerId: first.partnerId, orgId: null }]);
    expect(await invitations.findOffer(keyHash)).toMatchObject({ used: true });
    expect(await run(first, (tx) => invitations.isMember(tx, scopeOf(first), userId))).toBe(true);
  });

  it('invites a former member again, and not a present one', async () => {
    const email = freshEmail();
    const { keyHash } = mintLinkToken();
    const userId = (await invite(first, email, keyHash)) ?? '';
    await work((tx) => invitations.accept(tx, keyHash, userId));
    expect(await invite(first, email)).toBeNull();
    await testApp.query('DELETE FROM partner_membership WHERE user_id = $1', [userId]);
    expect(await invite(first, email)).toBe(userId);
    expect(await invitations.findOffer(keyHash)).toBeNull();
  });
});
