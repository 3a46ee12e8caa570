import { CredentialsUnderTest } from '../../test/credentials-under-test.js';
import { ExpiryReminders } from './expiry-reminders.js';

describe('reminders of keys that expire', () => {
  let service: CredentialsUnderTest;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    service = await CredentialsUnderTest.start();
    partnerId = await service.partner();
    orgId = await service.organization(partnerId);
  }, 60_000);
  afterAll(() => service?.stop());

  /** A key that was made so many days ago and ends in so many. */
  async function key(madeDaysAgo: number, endsInDays: number, more: object = {}) {
    const client = await service.as({ partnerId });
    const expiresAt = new Date(Date.now() + endsInDays * 86_400_000).toISOString();
    const body = { orgId, name: 'Reports', scopes: [], expiresAt, ...more };
    const { id } = (await client.post('/api-keys', body).expect(201)).body as { id: string };
    await service.admin.query(`UPDATE api_key SET created_at = now() - make_interval(days => $2) WHERE id = $1`, [
      id,
      madeDaysAgo,
    ]);
    return { id, userId: service.identity.userIdOf(client.token) };
  }
  const run = () => service.app.get(ExpiryReminders).run();
  const mailsOf = (id: string) =>
    service.identity.mails.filter(({ idempotencyKey }) => idempotencyKey.startsWith(`api-key-expiring:${id}:`));
  const endIn = (id: string, days: number) =>
    service.admin.query(`UPDATE api_key SET expires_at = now() + make_interval(days => $2) WHERE id = $1`, [id, days]);

  it('go to the creator 14 and 3 days ahead, once each', async () => {
    const { id, userId } = await key(60, 15);
    await run();
    expect(mailsOf(id)).toHaveLength(0);
    await service.admin.query(`UPDATE api_key SET expires_at = now() + interval '13 days' WHERE id = $1`, [id]);
    await run();
    await run();
    expect(mailsOf(id)).toHaveLength(1);
    expect(mailsOf(id)[0]).toMatchObject({
      to: [`${userId}@example.com`],
      template: 'api-key-expiring',
      values: { keyName: 'Reports', keyPrefix: expect.stringMatching(/^svc_.{8}$/) },
    });
    await service.admin.query(
      `UPDATE api_key SET expires_at = now() + interval '2 days', reminded_at = now() - interval '11 days' WHERE id = $1`,
      [id],
    );
    await run();
    await run();
    expect(mailsOf(id).map(({ idempotencyKey }) => idempotencyKey.split(':')[2])).toEqual(['14', '3']);
  });

  it('are not sent on the day a short-lived key is made, but are three days ahead', async () => {
    const { id } = await key(0, 10);
    await run();
    expect(mailsOf(id)).toHaveLength(0);
    await service.admin.query(`UPDATE api_key SET created_at = now() - interval '8 days' WHERE id = $1`, [id]);
    await endIn(id, 2);
    await run();
    expect(mailsOf(id)).toHaveLength(1);
  });

  it('are left out on request, for revoked keys, and for creators who are gone', async () => {
    const [quiet, revoked, orphan] = [await key(60, 2, { expiryReminders: false }), await key(60, 2), await key(60, 2)];
    await service.admin.query(`UPDATE api_key SET status = 'revoked' WHERE id = $1`, [revoked.id]);
    service.identity.change(orphan.userId, { userStatus: 'disabled' });
    await run();
    expect([quiet, revoked, orphan].flatMap(({ id }) => mailsOf(id))).toEqual([]);
    expect(await run()).toBe(0);
  });
});
