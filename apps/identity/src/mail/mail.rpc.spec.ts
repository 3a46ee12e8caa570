import { IDENTITY_MAIL_SEND, type MailSendRequest } from '@rmm/contracts';
import { NatsLink, RpcClient } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import { freshEmail, IdentityFleet, type RunningIdentity } from '../../test/identity-fleet.js';

describe('mail for other services', () => {
  let fleet: IdentityFleet;
  let identity: RunningIdentity;
  let link: NatsLink;

  beforeAll(async () => {
    fleet = await IdentityFleet.start();
    identity = await fleet.run();
    link = new NatsLink({ url: fleet.nats.urlFor('credentials'), name: 'mail-spec' });
    await link.open();
  }, 120_000);
  afterAll(async () => {
    await link?.close();
    await fleet?.stop();
  });

  const send = (more: Partial<MailSendRequest> = {}) =>
    new RpcClient(link).call(IDENTITY_MAIL_SEND, {
      idempotencyKey: 'key-1:14',
      to: [freshEmail()],
      template: 'api-key-expiring',
      values: { name: 'Robin', keyName: 'Reports', keyPrefix: 'svc_abcdefgh', expiresAt: '2027-01-01 00:00 UTC' },
      ...more,
    });

  it('is sent once for a key, however often it is asked for', async () => {
    const email = freshEmail();
    const replies = await Promise.all(Array.from({ length: 5 }, () => send({ to: [email] })));
    expect(replies).toEqual(replies.map(() => ({ accepted: true })));
    await send({ to: [email], idempotencyKey: 'key-1:3' });
    await eventually(async () => expect(await identity.mails(email)).toHaveLength(2));
    const [mail] = await identity.mails(email);
    expect(mail.subject).toBe('The API key "Reports" expires soon');
    const rows = await fleet.query('select 1 from mail where recipient = $1', [email]);
    expect(rows).toHaveLength(2);
  });

  it.each(['password-reset', 'no-such-mail'])('is not %s', async (template) => {
    await expect(send({ template })).rejects.toMatchObject({ status: 400 });
  });
});
