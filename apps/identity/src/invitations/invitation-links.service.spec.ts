import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { eventDataSchema, type DomainEvent } from '@rmm/contracts';
import { NatsLink, type AuditedCaller } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, roleId, type TestUser } from '../../test/users.js';
import type { AccountSummary } from '../users/users.repository.js';
import { InvitationLinksService, type Invitation, type SentLink } from './invitation-links.service.js';
import { UserAlreadyExists } from './invitation.errors.js';
import { InvitationsRepository } from './invitations.repository.js';

describe('InvitationLinksService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let acme: TestUser;
  let other: TestUser;
  let viewer: string;
  let caller: AuditedCaller;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    acme = await registerPartner(identity, 'Acme MSP');
    other = await registerPartner(identity, 'Other MSP');
    viewer = await roleId(identity, acme.bearer, 'Partner Viewer');
    const { userId: id, email, partnerId } = acme;
    caller = { actor: { type: 'user', id, email }, tenant: { partnerId, orgId: null } };
  }, 120_000);
  afterAll(() => testApp.stop());

  const run = <T>(work: (tx: WorkerTransaction, links: InvitationLinksService) => Promise<T>, on = identity) =>
    on.app.get(WorkerDatabase).transaction((tx) => work(tx, on.app.get(InvitationLinksService)));
  const tenant = () => ({ scope: { kind: 'partner', partnerId: acme.partnerId } as const, tenantName: 'Acme MSP' });
  const invitation = (email: string): Invitation => ({
    ...tenant(),
    email,
    name: 'Robin Vale',
    roleId: viewer,
    invitedBy: acme.userId,
    orgAccess: 'all',
    orgIds: [],
    siteIds: null,
    deviceGroupIds: null,
  });
  const invite = (email: string, existing: AccountSummary | null = null, on = identity, mayMail = true) =>
    run((tx, links) => links.invite(tx, caller, existing, invitation(email), mayMail), on);
  const userOf = async (userId: string) => {
    const user = await identity.app.get(InvitationsRepository).findUser(identity.app.get(WorkerDatabase), userId);
    if (!user) throw new Error(`no user ${userId}`);
    return user;
  };
  const subjectsTo = async (email: string) => (await identity.mails(email)).map(({ subject }) => subject);

  it('creates an invited account, mails its link and records the invitation', async () => {
    const email = freshEmail();
    const { userId, ...delivery } = await invite(email);
    expect(delivery).toEqual({ inviteEmailSent: true, url: null });
    const [account] = await testApp.query('SELECT email, name, status FROM user_account WHERE id = $1', [userId]);
    expect(account).toEqual({ email, name: 'Robin Vale', status: 'invited' });
    expect(await identity.mailedToken(email)).toHaveLength(48);
    await eventually(async () => {
      const [entry] = await testApp.query('SELECT action, details FROM audit_entry WHERE resource_id = $1', [userId]);
      expect(entry).toEqual({ action: 'user.invite', details: { roleId: viewer, inviteEmailSent: true } });
    });
  });

  describe('to an organization', () => {
    const events: DomainEvent<'user.invited'>[] = [];
    let link: NatsLink;
    let orgId: string;

    beforeAll(async () => {
      link = new NatsLink({ url: testApp.nats.adminUrl, name: 'events-spec' });
      await link.open();
      link.connection.subscribe('rmm.events.*.user.invited', {
        callback: (_, message) => void events.push(message.json<DomainEvent<'user.invited'>>()),
      });
      await link.connection.flush();
    });
    beforeEach(async () => {
      events.length = 0;
      orgId = randomUUID();
      await testApp.query(
        `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
         VALUES ($1, $2, 'Customer', 'customer-' || $1::uuid, 'active', 1)`,
        [orgId, acme.partnerId],
      );
    });
    afterAll(() => link.close());

    const toOrganization = (email: string): Invitation => ({
      ...invitation(email),
      scope: { kind: 'organization', partnerId: acme.partnerId, orgId },
      orgAccess: 'none',
    });

    it('publishes the invitation without its link, and none to a partner', async () => {
      const email = freshEmail();
      await invite(freshEmail());
      const { userId } = await run((tx, links) => links.invite(tx, caller, null, toOrganization(email), true));
      await eventually(() => expect(events).toHaveLength(1));
      expect(events).toMatchObject([{ partnerId: acme.partnerId, orgId, aggregateId: userId, actor: caller.actor }]);
      const data = { userId, email, name: 'Robin Vale', roleId: viewer, invitedBy: acme.userId };
      expect(events[0].data).toEqual(data);
      expect(eventDataSchema('user.invited').parse(data)).toEqual(data);
      const token = await identity.mailedToken(email);
      expect(JSON.stringify(events)).not.toContain(token);
      expect(JSON.stringify(events)).not.toContain(hashKey(token).toString('hex'));
    });

    it('publishes nothing when the transaction fails or the user is invited already', async () => {
      const failing = run(async (tx, links) => {
        await links.invite(tx, caller, null, toOrganization(freshEmail()), false);
        throw new Error('failed after the invitation');
      });
      await expect(failing).rejects.toThrow('failed after the invitation');
      const email = freshEmail();
      const { userId: id } = await run((tx, links) => links.invite(tx, caller, null, toOrganization(email), false));
      const existing = { id, email, name: 'Robin Vale', status: 'invited' } as const;
      const again = run((tx, links) => links.invite(tx, caller, existing, toOrganization(email), false));
      await expect(again).rejects.toThrow(UserAlreadyExists);
      const { userId: later } = await run((tx, links) =>
        links.invite(tx, caller, null, toOrganization(freshEmail()), false),
      );
      await eventually(() => expect(events.map(({ aggregateId }) => aggregateId)).toContain(later));
      expect(events.map(({ aggregateId }) => aggregateId).sort()).toEqual([id, later].sort());
    });
  });

  it('adds no member: an active user of another tenant is asked by mail', async () => {
    const { userId: id, email } = other;
    const sent = await invite(email, { id, email, name: 'Pat Morgan', status: 'active' });
    expect(sent).toEqual({ userId: id, inviteEmailSent: true, url: null });
    await eventually(async () => expect(await subjectsTo(email)).toContain('You have been invited to Acme MSP'));
    const rows = await testApp.query('SELECT 1 FROM partner_membership WHERE user_id = $1 AND partner_id = $2', [
      id,
      acme.partnerId,
    ]);
    expect(rows).toEqual([]);
  });

  it('mails nothing to a mailbox that had enough mails, with the same response', async () => {
    const email = freshEmail();
    expect(await invite(email, null, identity, false)).toMatchObject({ inviteEmailSent: true, url: null });
    expect(await testApp.query('SELECT 1 FROM mail WHERE recipient = $1', [email])).toEqual([]);
  });

  it('refuses a member of the scope, and stores nothing', async () => {
    const email = freshEmail();
    const { userId: id } = await invite(email);
    await identity.mailedToken(email);
    await expect(invite(email, { id, email, name: 'Robin Vale', status: 'invited' })).rejects.toThrow(
      UserAlreadyExists,
    );
    expect(await testApp.query('SELECT 1 FROM mail WHERE recipient = $1', [email])).toHaveLength(1);
  });

  it('replaces the link when the invitation is sent again', async () => {
    const email = freshEmail();
    const { userId } = await invite(email);
    const first = await identity.mailedToken(email);
    const open = { userId, email, name: 'Robin Vale', roleId: viewer, siteIds: null, deviceGroupIds: null };
    const account = { status: 'invited', mayMail: true } as const;
    const sent = await run((tx, links) => links.resend(tx, caller, open, tenant(), account));
    expect(sent).toMatchObject({ inviteEmailSent: true });
    expect(await identity.mailedToken(email, 2)).not.toBe(first);
    expect((await identity.post('/auth/invite/preview', { token: first })).status).toBe(404);
  });

  it('allows five mails a day to an address', async () => {
    const links = identity.app.get(InvitationLinksService);
    const email = freshEmail();
    const allowed: boolean[] = [];
    for (let n = 0; n < 6; n += 1) allowed.push(await links.mayMail(email));
    expect(allowed).toEqual([true, true, true, true, true, false]);
  });

  it('mails an activation link, which replaces that of the newest invitation', async () => {
    const email = freshEmail();
    const { userId } = await invite(email);
    const first = await identity.mailedToken(email);
    await identity.app.get(InvitationLinksService).sendActivation(await userOf(userId));
    const second = await identity.mailedToken(email, 2);
    expect((await identity.post('/auth/invite/preview', { token: first })).status).toBe(404);
    expect((await identity.post('/auth/invite/preview', { token: second })).status).toBe(200);
  });

  it('mails no activation to a user without an invitation', async () => {
    const email = freshEmail();
    const { userId } = await invite(email, null, identity, false);
    const user = await userOf(userId);
    await testApp.query('DELETE FROM invitation WHERE user_id = $1', [userId]);
    await identity.app.get(InvitationLinksService).sendActivation(user);
    expect(await testApp.query('SELECT 1 FROM mail WHERE recipient = $1', [email])).toEqual([]);
  });

  it('runs the work again with the account that another invitation created meanwhile', async () => {
    const email = freshEmail();
    const seen: (string | null)[] = [];
    const { userId } = await identity.app.get(InvitationLinksService).withAccount(email, async (existing) => {
      seen.push(existing?.email ?? null);
      if (seen.length === 1) await invite(email);
      return existing ? { userId: existing.id } : invite(email, existing);
    });
    expect(seen).toEqual([null, email]);
    expect(userId).toBe((await userOf(userId)).id);
  });

  // The last ones: this replica takes mails of the others from their queue.
  describe('where no mail can be sent', () => {
    let silent: IdentityReplica;
    let links: InvitationLinksService;
    const admin = (permissions: string[], user = acme) =>
      ({
        scope: 'partner',
        partnerId: user.partnerId,
        orgId: null,
        siteIds: null,
        deviceGroupIds: null,
        permissions: new Set(permissions),
      }) as unknown as UserCaller;

    beforeAll(async () => {
      silent = await testApp.startReplica({ MAILBOX_DIR: '' });
      links = silent.app.get(InvitationLinksService);
    });

    it('returns the link, which is not mailed', async () => {
      const { inviteEmailSent, url } = await invite(freshEmail(), null, silent);
      expect(inviteEmailSent).toBe(false);
      const token = /token=([\w-]{48})$/.exec(url ?? '')?.[1];
      expect((await identity.post('/auth/invite/preview', { token })).status).toBe(200);
    });

    it('shows the link to an administrator with the permissions of the invitation, and to no other', async () => {
      const sent = await invite(freshEmail(), null, silent);
      const shown = await links.toDelivery(admin(['*:*']), sent);
      expect(shown).toEqual({ inviteEmailSent: false, inviteUrl: sent.url, warning: expect.any(String) });
      for (const caller of [admin(['users:invite']), admin(['*:*'], other)]) {
        expect(await links.toDelivery(caller, sent)).not.toHaveProperty('inviteUrl');
      }
      const unknown: SentLink = { ...sent, userId: randomUUID() };
      expect(await links.toDelivery(admin(['*:*']), unknown)).not.toHaveProperty('inviteUrl');
    });

    it('counts no mails to an address, and sends no activation', async () => {
      const email = freshEmail();
      for (let n = 0; n < 6; n += 1) expect(await links.mayMail(email)).toBe(true);
      const { userId } = await invite(email, null, silent);
      await links.sendActivation(await userOf(userId));
      expect(await testApp.query('SELECT 1 FROM mail WHERE recipient = $1', [email])).toEqual([]);
    });
  });
});
