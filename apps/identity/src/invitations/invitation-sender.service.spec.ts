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
  const invite = (email: string, existing: AccountSummary | null = null, on = identity) =>
    run((tx, sender) => sender.invite(tx, caller, existing, invitation(email)), on);
  const subjectsTo = async (email: string) => (await identity.mails(email)).map(({ subject }) => subject);

  it('creates an invited account, mails its link and records the invitation', async () => {
    const email = freshEmail();
    const { account, delivery } = await invite(email);
    expect(account).toEqual({ id: expect.any(String), email, name: 'Robin Vale', status: 'invited' });
    expect(delivery).toEqual({ inviteEmailSent: true });
    expect(await identity.mailedToken(email)).toHaveLength(48);
    await eventually(async () => {
      const [entry] = await testApp.query('SELECT action, details FROM audit_entry WHERE resource_id = $1', [
        account.id,
      ]);
      expect(entry).toEqual({ action: 'user.invite', details: { roleId: viewer, inviteEmailSent: true } });
    });
  });

  it('adds an active user of another tenant, with a note in place of a link', async () => {
    const { userId: id, email } = other;
    const { delivery } = await invite(email, { id, email, name: 'Pat Morgan', status: 'active' });
    expect(delivery).toEqual({ inviteEmailSent: true });
    await eventually(async () => expect(await subjectsTo(email)).toContain('You now have access to Acme MSP'));
    expect(await testApp.query(`SELECT 1 FROM link_token WHERE user_id = $1 AND purpose = 'invite'`, [id])).toEqual([]);
  });

  it('refuses a member of the scope, and stores nothing', async () => {
    const email = freshEmail();
    const { account } = await invite(email);
    await identity.mailedToken(email);
    await expect(invite(email, account)).rejects.toThrow(UserAlreadyExists);
    expect(await testApp.query('SELECT 1 FROM mail WHERE recipient = $1', [email])).toHaveLength(1);
  });

  it('replaces the link when the invitation is sent again', async () => {
    const email = freshEmail();
    const { account } = await invite(email);
    const first = await identity.mailedToken(email);
    expect(await run((tx, sender) => sender.resend(tx, caller, account, tenant()))).toEqual({ inviteEmailSent: true });
    expect(await identity.mailedToken(email, 2)).not.toBe(first);
    expect((await identity.post('/auth/invite/preview', { token: first })).status).toBe(404);
  });

  it('returns the link when no mail can be sent', async () => {
    const silent = await testApp.startReplica({ MAILBOX_DIR: '' });
    const { delivery } = await invite(freshEmail(), null, silent);
    expect(delivery).toMatchObject({
      inviteEmailSent: false,
      warning: expect.stringContaining('Mail is not configured'),
    });
    const token = /token=([\w-]{48})$/.exec(delivery.inviteUrl ?? '')?.[1];
    expect((await identity.post('/auth/invite/preview', { token })).status).toBe(200);
  }, 60_000);
});
