import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import { createWebhook, type DispatcherTestCluster, type Organization } from '../../test/dispatcher-test-cluster.js';
import type { FakeReceiver } from '../../test/fake-receiver.js';
import { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.policy.js';
import { MASK } from '../webhooks/webhook-masking.policy.js';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import type { AttemptDto } from './dto/attempt.dto.js';

/** The headers that the connection adds. */
const OF_THE_CONNECTION = new Set(['host', 'connection', 'content-length']);

describe('GET /webhooks/:id/deliveries/:deliveryId/attempts', () => {
  const partnerId = randomUUID();
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let mine: Organization;
  let member: ApiClient;
  let writer: ApiClient;
  let stranger: ApiClient;
  let unauthorized: ApiClient;

  beforeAll(async () => {
    service = await DispatcherTestApp.start();
    ({ cluster, receiver } = service);
    member = service.partner(partnerId, ['organizations:read']);
    writer = service.partner(partnerId, ['organizations:write']);
    unauthorized = service.partner(partnerId, ['devices:read']);
    stranger = service.partner(randomUUID());
  });

  beforeEach(async () => {
    mine = await cluster.organization(partnerId);
    receiver.received.length = 0;
    receiver.respond = (response) => response.end('ok');
  });

  afterAll(() => service.stop());

  const attemptsOf = async (webhookId: string, deliveryId: string): Promise<AttemptDto[]> => {
    const { body } = await member.get(`/${webhookId}/deliveries/${deliveryId}/attempts`).expect(200);
    return (body as { data: AttemptDto[] }).data;
  };
  const ended = (webhookId: string, status: string) =>
    eventually(async () => {
      const [row] = await cluster.deliveries(webhookId);
      expect(row).toMatchObject({ status });
      return row?.id ?? '';
    });
  /** Retries follow each other at once. */
  const hurried = (maxRetries: number) => ({ maxRetries, initialDelayMs: 1 });
  /** Delays retries until `setDue` is called, however slow the machine is. */
  const patient = { initialDelayMs: 3_600_000, maxDelayMs: 3_600_000 };
  const setDue = async (webhookId: string) => {
    await cluster.rows(`update delivery set due_at = now() - interval '1 minute' where webhook_id = $1`, [webhookId]);
    service.app.get(RetrySchedulerService).wake(webhookId, mine.orgId);
  };
  const sentTo = (i: number): WebhookHeader[] => {
    const raw = receiver.received[i]?.rawHeaders ?? [];
    const pairs = raw.flatMap((key, at) => (at % 2 === 0 ? [{ key, value: raw[at + 1] ?? '' }] : []));
    return pairs.filter(({ key }) => !OF_THE_CONNECTION.has(key.toLowerCase()));
  };
  const masked = (headers: WebhookHeader[], ...names: string[]) =>
    headers.map(({ key, value }) => ({ key, value: names.includes(key.toLowerCase()) ? MASK : value }));

  it('shows each attempt with the headers that were truly sent, secret values masked', async () => {
    receiver.respond = (response) =>
      receiver.received.length <= 2
        ? response
            .writeHead(503, { 'X-Attempt': String(receiver.received.length), 'Set-Cookie': ['a=1', 'b=2'] })
            .end('busy')
        : response
            .writeHead(200, {
              'X-Auth-Token': 'a secret value',
              Location: 'https://a.example/?token=a-secret-value&b=1',
            })
            .end('done');
    const webhook = await createWebhook(service.app, mine, receiver.url.replace('//', '//user:pass@'), {
      secret: 'top secret',
      headers: [
        { key: 'X-Environment', value: 'höst' },
        { key: 'X-Api-Key', value: 'k-123' },
      ],
    });
    await cluster.setRetryPolicy(webhook.id, hurried(5));
    await cluster.emit(mine);
    const deliveryId = await ended(webhook.id, 'delivered');
    const attempts = await attemptsOf(webhook.id, deliveryId);
    expect(attempts.map(({ attempt, outcome, responseStatus }) => [attempt, outcome, responseStatus])).toEqual([
      [1, 'retrying', 503],
      [2, 'retrying', 503],
      [3, 'delivered', 200],
    ]);
    attempts.forEach(({ requestHeaders, startedAt, durationMs }, i) => {
      expect(requestHeaders).toEqual(masked(sentTo(i), 'x-service-signature', 'x-api-key', 'authorization'));
      expect(String(Date.parse(startedAt))).toBe(receiver.received[i]?.headers['x-service-timestamp']);
      expect(durationMs).toBeGreaterThanOrEqual(0);
    });
    expect(attempts[1]).toMatchObject({ responseBody: 'busy', errorMessage: 'HTTP 503: busy' });
    expect(attempts[1]?.responseHeaders).toEqual(
      expect.arrayContaining([
        { key: 'x-attempt', value: '2' },
        { key: 'set-cookie', value: MASK },
      ]),
    );
    expect(attempts[2]).toMatchObject({ responseBody: 'done', errorMessage: null });
    expect(attempts[2]?.responseHeaders).toEqual(
      expect.arrayContaining([
        { key: 'x-auth-token', value: MASK },
        { key: 'location', value: 'https://a.example/?b=1' },
      ]),
    );
    const stored = await cluster.rows(
      `select (select json_agg(d) from delivery d where d.webhook_id = $1) as d, (select json_agg(a) from attempt a) as a,
              (select json_agg(s) from request_shape s) as s`,
      [webhook.id],
    );
    expect(JSON.stringify(stored)).not.toMatch(/a=1|k-123|höst|a.secret.value|pass|sha256=/);
  });

  it('ends a page at about 1 MB of responses and says so', async () => {
    const webhook = await service.webhook(mine, {}, patient);
    receiver.respond = (response) => response.writeHead(500).end();
    await cluster.emit(mine);
    const deliveryId = await ended(webhook.id, 'retrying');
    await cluster.rows(
      `insert into attempt (delivery_id, created_at, attempt, partner_id, org_id, started_at, response_status, response_body)
       select id, created_at, n + 1, partner_id, org_id, now(), 500, repeat('x', 299000)
         from delivery, generate_series(1, 20) as n where id = $1`,
      [deliveryId],
    );
    const { body } = await member.get(`/${webhook.id}/deliveries/${deliveryId}/attempts?limit=100`).expect(200);
    const { data, pagination } = body as { data: AttemptDto[]; pagination: object };
    expect(data.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(pagination).toEqual({ page: 1, limit: 100, total: 21, truncated: true });
  });

  it('stores no row in addition to the delivery when the first attempt succeeds, and one shape for all', async () => {
    const webhook = await service.webhook(mine);
    for (let i = 0; i < 5; i += 1) await cluster.emit(mine);
    await eventually(async () => {
      const rows = await cluster.deliveries(webhook.id);
      expect(rows.map(({ status }) => status)).toEqual(Array<string>(5).fill('delivered'));
    });
    const [first] = await cluster.deliveries(webhook.id);
    expect(await attemptsOf(webhook.id, first?.id ?? '')).toHaveLength(1);
    const [counted] = await cluster.rows(
      `select (select count(*)::int from attempt a join delivery d on d.id = a.delivery_id where d.webhook_id = $1) as attempts,
              (select count(*)::int from request_shape where webhook_id = $1) as shapes`,
      [webhook.id],
    );
    expect(counted).toEqual({ attempts: 0, shapes: 1 });
  });

  it('shows the headers of each attempt as they were then, also after the webhook has got others', async () => {
    receiver.respond = (response) => response.writeHead(receiver.received.length === 1 ? 500 : 200).end();
    const webhook = await service.webhook(mine, { headers: [{ key: 'X-Version', value: '1' }] }, patient);
    await cluster.emit(mine);
    await ended(webhook.id, 'retrying');
    await writer.patch(`/${webhook.id}`, { headers: [{ key: 'X-Other', value: '2' }], secret: 's' }).expect(200);
    await setDue(webhook.id);
    const deliveryId = await ended(webhook.id, 'delivered');
    const [first, second] = await attemptsOf(webhook.id, deliveryId);
    expect(first?.requestHeaders).toEqual(sentTo(0));
    expect(second?.requestHeaders).toEqual(masked(sentTo(1), 'x-service-signature'));
    expect(second?.requestHeaders).toContainEqual({ key: 'X-Other', value: '2' });
  });

  it('shows an attempt that sent nothing, and that a delivery which ended without one has none more', async () => {
    const webhook = await service.webhook(mine, {}, patient);
    const unsafe = service.app.get(WebhookSealingService).sealUrl(webhook.id, 'http://169.254.169.254/');
    await cluster.rows('update webhook set url_sealed = $2 where id = $1', [webhook.id, unsafe]);
    await writer.post(`/${webhook.id}/test`).expect(202);
    const deliveryId = await ended(webhook.id, 'retrying');
    const expected = {
      attempt: 1,
      outcome: 'retrying',
      startedAt: expect.any(String),
      durationMs: null,
      responseStatus: null,
      requestHeaders: [],
      responseHeaders: [],
      responseBody: null,
      errorMessage: expect.stringContaining('Unsafe webhook URL'),
    };
    expect(await attemptsOf(webhook.id, deliveryId)).toEqual([expected]);
    await cluster.rows(`update webhook set status = 'disabled' where id = $1`, [webhook.id]);
    await setDue(webhook.id);
    await ended(webhook.id, 'failed');
    expect(await attemptsOf(webhook.id, deliveryId)).toEqual([expected]);
  });

  it('has no attempt while the first is still to be made, pages, and goes with its webhook', async () => {
    receiver.respond = (response) => response.writeHead(500).end();
    const webhook = await service.webhook(mine, {}, hurried(3));
    await cluster.emit(mine);
    const deliveryId = await ended(webhook.id, 'failed');
    const path = `/${webhook.id}/deliveries/${deliveryId}/attempts`;
    const { body } = await member.get(`${path}?limit=3&page=2`).expect(200);
    expect(body).toMatchObject({
      data: [{ attempt: 4, outcome: 'failed' }],
      pagination: { page: 2, limit: 3, total: 4 },
    });
    const open = await cluster.rows<{ id: string }>(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at)
       values (gen_random_uuid(), now(), $1, $2, $3, 'device.online', 'e', 6, now() + interval '1 hour') returning id`,
      [mine.partnerId, mine.orgId, webhook.id],
    );
    expect(await attemptsOf(webhook.id, open[0]?.id ?? '')).toEqual([]);
    await writer.delete(`/${webhook.id}`).expect(200);
    await eventually(async () => {
      expect(await cluster.rows('select 1 from attempt where delivery_id = $1', [deliveryId])).toEqual([]);
      expect(await cluster.rows('select 1 from request_shape where webhook_id = $1', [webhook.id])).toEqual([]);
    });
  });

  it('is closed to others, and 400 where the page is none', async () => {
    const webhook = await service.webhook(mine);
    await cluster.emit(mine);
    const deliveryId = await ended(webhook.id, 'delivered');
    const other = await service.webhook(mine);
    const path = `/${webhook.id}/deliveries/${deliveryId}/attempts`;
    await member.get(path).expect(200);
    await service.anonymous.get(path).expect(401);
    await unauthorized.get(path).expect(403);
    expect((await stranger.get(path).expect(404)).body.error).toBe('Webhook not found');
    for (const wrong of [`/${webhook.id}/deliveries/${randomUUID()}`, `/${other.id}/deliveries/${deliveryId}`]) {
      expect((await member.get(`${wrong}/attempts`).expect(404)).body.error).toBe('Delivery not found');
    }
    await member.get(`/${webhook.id}/deliveries/nonsense/attempts`).expect(404);
    await member.get(`${path}?limit=101`).expect(400);
    await member.get(`${path}?page=0`).expect(400);
  });
});
