import { randomUUID } from 'node:crypto';
import { IDENTITY_MAIL_SEND, type MailSendRequest } from '@rmm/contracts';
import { NatsLink, RpcClient } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import { freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner } from '../../test/users.js';

describe('MailService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let link: NatsLink;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    link = new NatsLink({ url: testApp.nats.urlFor('credentials'), name: 'mail-spec' });
    await link.open();
  }, 120_000);
  afterAll(async () => {
    await link?.close();
    await testApp?.stop();
  });

  const send = (more: Partial<MailSendRequest> = {}) =>
    new RpcClient(link).call(IDENTITY_MAIL_SEND, {
      idempotencyKey: 'key-1:14',
      to: [freshEmail()],
      template: 'api-key-expiring',
      values: { name: 'Robin', keyName: 'Reports', keyPrefix: 'svc_abcdefgh', expiresAt: '2027-01-01 00:00 UTC' },
      ...more,
    });

  const sendUntilAccepted = (email: string) =>
    eventually(async () => {
      const { accepted } = await send({ to: [email], idempotencyKey: `key-2:${email}` });
      expect(accepted).toBe(true);
    });

  it('sends one mail for repeated requests with the same key', async () => {
    const email = freshEmail();
    const replies = await Promise.all(Array.from({ length: 5 }, () => send({ to: [email] })));
    expect(replies).toEqual(replies.map(() => ({ accepted: true })));
    await send({ to: [email], idempotencyKey: 'key-1:3' });
    await eventually(async () => expect(await identity.mails(email)).toHaveLength(2));
    const [mail] = await identity.mails(email);
    expect(mail.subject).toBe('The API key "Reports" expires soon');
    const rows = await testApp.query('select 1 from mail where recipient = $1', [email]);
    expect(rows).toHaveLength(2);
  });

  it('leaves mails to the replicas that can send them', async () => {
    const silent = await testApp.startReplica({ MAILBOX_DIR: '' });
    const emails = Array.from({ length: 6 }, () => freshEmail());
    // The silent replica accepts no requests: they are repeated until the other one does.
    await Promise.all(emails.map((email) => sendUntilAccepted(email)));
    for (const email of emails) await eventually(async () => expect(await identity.mails(email)).toHaveLength(1));
    await silent.stop();
  });

  describe('audience', () => {
    let partnerId: string;
    let admin: string;
    const failed = (orgId: string, idempotencyKey = `webhook-failed:${orgId}`) =>
      send({
        idempotencyKey,
        to: [],
        audience: { partnerId, orgId, permission: 'organizations:write' },
        template: 'webhook-failed',
        values: { webhookName: 'Tickets', organizationName: 'Acme', failingSince: '2026-11-15 10:00 UTC' },
      });
    const member = async (orgId: string, name: string, role: string, status = 'active') => {
      const email = freshEmail();
      await testApp.query(
        `insert into organization_directory (org_id, partner_id, name, slug, status, version)
         values ($1, $2, 'Acme', 'acme', 'active', 1) on conflict do nothing`,
        [orgId, partnerId],
      );
      await testApp.query(
        `with account as (
           insert into user_account (email, name, status) values ($1, $2, $3) returning id
         )
         insert into organization_membership (partner_id, org_id, user_id, role_id)
         select $4, $5, account.id, r.id from account, role r where r.system_key = $6 and r.partner_id is null`,
        [email, name, status, partnerId, orgId, role],
      );
      return email;
    };

    beforeAll(async () => {
      ({ partnerId, email: admin } = await registerPartner(identity));
    });

    it('sends one mail to each active member of the organization with the permission', async () => {
      const orgId = randomUUID();
      const robin = await member(orgId, 'Robin', 'org_admin');
      const kim = await member(orgId, 'Kim', 'org_admin');
      const others = await Promise.all([
        member(orgId, 'Viewer', 'org_viewer'),
        member(orgId, 'Gone', 'org_admin', 'disabled'),
        member(randomUUID(), 'Elsewhere', 'org_admin'),
      ]);
      expect(await Promise.all([failed(orgId), failed(orgId)])).toEqual([{ accepted: true }, { accepted: true }]);
      await eventually(async () => {
        const [[toRobin], [toKim]] = await Promise.all([identity.mails(robin), identity.mails(kim)]);
        expect(toRobin.subject).toBe('The webhook "Tickets" was switched off');
        expect(toRobin.text).toContain('Hello Robin,');
        expect(toKim.text).toContain('Hello Kim,');
      });
      const rows = await testApp.query('select 1 from mail where recipient = any($1)', [[robin, kim]]);
      expect(rows).toHaveLength(2);
      const wrong = `select recipient from mail where template = 'webhook-failed' and recipient = any($1)`;
      expect(await testApp.query(wrong, [[...others, admin]])).toEqual([]);
    });

    it('sends to the partner administrators when no member has the permission', async () => {
      const orgId = randomUUID();
      const viewer = await member(orgId, 'Viewer', 'org_viewer');
      await failed(orgId);
      await eventually(async () => {
        const mails = await identity.mails(admin);
        expect(mails.map(({ subject }) => subject)).toContain('The webhook "Tickets" was switched off');
      });
      expect(await testApp.query('select 1 from mail where recipient = $1', [viewer])).toEqual([]);
    });
  });

  it.each(['password-reset', 'no-such-mail'])('refuses the template %s', async (template) => {
    await expect(send({ template })).rejects.toMatchObject({ status: 400 });
  });
});
