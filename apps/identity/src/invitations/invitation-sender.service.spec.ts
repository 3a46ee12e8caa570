import type { AuditedCaller } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, roleId, type TestUser } from '../../test/users.js';
import type { AccountSummary } from '../users/users.repository.js';
import { InvitationSenderService, type Invitation } from './invitation-sender.service.js';
import { UserAlreadyExists } from './invitation.errors.js';

describe('InvitationSenderService', () => {
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

  const run = <T>(work: (tx: WorkerTransaction, sender: InvitationSenderService) => Promise<T>, on = identity) =>
    on.app.get(WorkerDatabase).transaction((tx) => work(tx, on.app.get(InvitationSenderService)));
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
    run((tx, sender) => sender.invite(tx, caller, existing, invitation(email), mayMail), on);
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

  it('mails nothing to a mailbox that had enough mails, with the same answer', async () => {
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
    const sent = await run((tx, sender) => sender.resend(tx, caller, open, tenant(), account));
    expect(sent).toMatchObject({ inviteEmailSent: true });
    expect(await identity.mailedToken(email, 2)).not.toBe(first);
    expect((await identity.post('/auth/invite/preview', { token: first })).status).toBe(404);
  });

  it('returns the link when no mail can be sent', async () => {
    const silent = await testApp.startReplica({ MAILBOX_DIR: '' });
    const { inviteEmailSent, url } = await invite(freshEmail(), null, silent);
    expect(inviteEmailSent).toBe(false);
    const token = /token=([\w-]{48})$/.exec(url ?? '')?.[1];
    expect((await identity.post('/auth/invite/preview', { token })).status).toBe(200);
  }, 60_000);
});
