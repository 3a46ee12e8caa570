import { UnavailableError } from '@rmm/service-kit';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { ApiKeyExpiryService } from './api-key-expiry.service.js';

describe('reminders of expiring API keys', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, orgId } = await service.createTenant());
  });
  afterAll(() => service?.stop());

  /** Creates a key with this age and remaining lifetime. */
  async function key(createdDaysAgo: number, expiresInDays: number, more: object = {}) {
    const client = await service.as({ partnerId });
    const expiresAt = new Date(Date.now() + expiresInDays * 86_400_000).toISOString();
    const body = { orgId, name: 'Reports', scopes: [], expiresAt, ...more };
    const { id } = (await client.post('/api-keys', body).expect(201)).body as { id: string };
    await service.admin.query(`UPDATE api_key SET created_at = now() - make_interval(days => $2) WHERE id = $1`, [
      id,
      createdDaysAgo,
    ]);
    return { id, userId: service.identity.userIdOf(client.token) };
  }
  const run = () => service.app.get(ApiKeyExpiryService).sendReminders();
  const mailsOf = (id: string) =>
    service.identity.mails.filter(({ idempotencyKey }) => idempotencyKey.startsWith(`api-key-expiring:${id}:`));
  const endIn = (id: string, days: number) =>
    service.admin.query(`UPDATE api_key SET expires_at = now() + make_interval(days => $2) WHERE id = $1`, [id, days]);

  it('are sent to the creator 14 and 3 days before the expiry, once each', async () => {
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

  it('are not sent when a short-lived key is created, but 3 days before its expiry', async () => {
    const { id } = await key(0, 10);
    await run();
    expect(mailsOf(id)).toHaveLength(0);
    await service.admin.query(`UPDATE api_key SET created_at = now() - interval '8 days' WHERE id = $1`, [id]);
    await endIn(id, 2);
    await run();
    expect(mailsOf(id)).toHaveLength(1);
  });

  it('are not sent when disabled, for revoked keys, and to disabled creators', async () => {
    const [quiet, revoked, orphan] = [await key(60, 2, { expiryReminders: false }), await key(60, 2), await key(60, 2)];
    await service.admin.query(`UPDATE api_key SET status = 'revoked' WHERE id = $1`, [revoked.id]);
    service.identity.change(orphan.userId, { userStatus: 'disabled' });
    await run();
    expect([quiet, revoked, orphan].flatMap(({ id }) => mailsOf(id))).toEqual([]);
  });
});

describe('ApiKeyExpiryService.sendReminders', () => {
  const keys = ['first', 'second'].map((id) => ({
    id,
    createdBy: 'u',
    partnerId: 'p',
    orgId: 'o',
    name: 'k',
    keyPrefix: 'svc_',
    expiresAt: new Date(0),
    days: 3,
  }));
  const reminded: string[] = [];

  /** Builds the service with an identity that answers the mail of the first key with an error. */
  function buildService(refusal: Error) {
    reminded.length = 0;
    const repository = {
      findExpiring: () => Promise.resolve(keys),
      setReminded: (id: string) => Promise.resolve(void reminded.push(id)),
    };
    const call = (_: unknown, request: { idempotencyKey?: string }) => {
      if (!request.idempotencyKey) return Promise.resolve({ active: true, grants: [{}], email: 'a@b.c', name: 'A' });
      return request.idempotencyKey.includes(':first:') ? Promise.reject(refusal) : Promise.resolve({ accepted: true });
    };
    const logger = { warn: () => undefined };
    const parts = [repository, {}, {}, {}, { call }, logger] as unknown as ConstructorParameters<
      typeof ApiKeyExpiryService
    >;
    return new ApiKeyExpiryService(...parts);
  }

  it('sends the other mails when one is refused', async () => {
    await buildService(new Error('no such template')).sendReminders();
    expect(reminded).toEqual(['second']);
  });

  it('stops while identity is unavailable', async () => {
    await expect(buildService(new UnavailableError()).sendReminders()).rejects.toThrow(UnavailableError);
    expect(reminded).toEqual([]);
  });
});
