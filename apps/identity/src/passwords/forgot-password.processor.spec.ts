import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { NEW_PASSWORD, PasswordResetsClient } from '../../test/password-resets.js';
import { registerPartner, roleId } from '../../test/users.js';
import { FORGOT_PASSWORD_QUEUE } from './reset-links.service.js';

describe('ForgotPasswordProcessor', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let links: PasswordResetsClient;
  let queue: Queue;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    links = new PasswordResetsClient(identity);
    queue = identity.app.get<Queue>(getQueueToken(FORGOT_PASSWORD_QUEUE));
  }, 120_000);
  afterAll(() => testApp.stop());

  /** Every request has been looked at. */
  const settled = () =>
    eventually(async () => {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized');
      expect(Object.values(counts).every((count) => count === 0)).toBe(true);
    });
  const linksOf = (email: string) =>
    testApp.query(
      `select t.user_id from link_token t join user_account u on u.id = t.user_id
       where u.email = $1 and t.purpose = 'password_reset'`,
      [email],
    );

  it('returns the same bytes to everyone and mails only users who can sign in', async () => {
    const disabled = await registerPartner(identity);
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [disabled.userId]);
    const passwordless = await registerPartner(identity);
    await testApp.query('update user_account set password_hash = null where id = $1', [passwordless.userId]);
    const suspended = await registerPartner(identity);
    await testApp.query(`update partner set status = 'suspended' where id = $1`, [suspended.partnerId]);
    const known = await registerPartner(identity);
    const invited = freshEmail('invited');
    await testApp.query(`insert into user_account (email, name) values ($1, 'Invited')`, [invited]);
    const without = [disabled.email, passwordless.email, suspended.email, invited, freshEmail()];

    const responses = [];
    for (const email of [known.email, ...without]) responses.push(await links.forgot(email));
    const from = freshAddress();
    for (let n = 0; n < 5; n += 1) responses.push(await links.forgot(freshEmail(), { from }));
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses[0]?.status).toBe(200);

    await settled();
    expect(await linksOf(known.email)).toHaveLength(1);
    for (const email of without) expect(await linksOf(email)).toEqual([]);
  });

  it('drops the fourth request of a client within an hour silently', async () => {
    const users = await Promise.all([registerPartner(identity), registerPartner(identity)]);
    const from = freshAddress();
    for (let n = 0; n < 3; n += 1) expectStatus(await links.forgot(users[0].email, { from }), 200);
    expectStatus(await links.forgot(users[1].email, { from }), 200);
    await settled();
    expect(await linksOf(users[0].email)).toHaveLength(1);
    expect(await linksOf(users[1].email)).toEqual([]);
  });

  it('leaves the owner a valid link when strangers use up the mails of the account', async () => {
    const { email } = await registerPartner(identity);
    const strangers = [freshAddress(), freshAddress()];
    for (let n = 0; n < 3; n += 1) for (const from of strangers) expectStatus(await links.forgot(email, { from }), 200);
    await links.linksFor(email, 5);
    // The owner gets the usual response and no sixth mail: the request must not void the newest link in the mailbox.
    expectStatus(await links.forgot(email), 200);
    await settled();
    const tokens = await links.linksFor(email, 5);
    expect(tokens).toHaveLength(5);
    expect(await links.resetWithEach(tokens)).toEqual([200, 400, 400, 400, 400]);
  });

  it('limits mails per account whatever the number of clients', async () => {
    const { email } = await registerPartner(identity);
    for (let n = 0; n < 8; n += 1) expectStatus(await links.forgot(email), 200);
    await settled();
    expect(
      await testApp.query(`select id from mail where recipient = $1 and template = 'password-reset'`, [email]),
    ).toHaveLength(5);
    expect(await links.resetWithEach(await links.linksFor(email, 5))).toEqual([200, 400, 400, 400, 400]);
  });

  it('mails an invited user without a password the link of its invitation', async () => {
    const host = await registerPartner(identity);
    const viewer = await roleId(identity, host.bearer, 'Partner Viewer');
    const email = freshEmail();
    expectStatus(await identity.post('/users/invite', { email, name: 'Robin', roleId: viewer }, host), 201);
    const lost = await identity.mailedToken(email);
    expectStatus(await links.forgot(email), 200);
    const token = await identity.mailedToken(email, 2);
    const accept = (link: string) => identity.post('/auth/accept-invite', { token: link, password: NEW_PASSWORD });
    expect((await accept(lost)).body.code).toBe('invite_invalid');
    expectStatus(await accept(token), 200);
    expect(await linksOf(email)).toEqual([]);
  });

  it('queues a job with sealed content', async () => {
    const { email } = await registerPartner(identity);
    await queue.pause();
    try {
      expectStatus(await links.forgot(email), 200);
      const jobs = await queue.getJobs(['waiting']);
      expect(jobs).toHaveLength(1);
      expect(Object.keys(jobs[0]?.data as object)).toEqual(['sealed']);
      expect(JSON.stringify(jobs[0])).not.toContain(email);
    } finally {
      await queue.resume();
    }
    await links.linkFor(email);
  });
});
