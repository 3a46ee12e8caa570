import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { MetricsRegistry } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { isSignedWith, FakeReceiver } from '../../test/fake-receiver.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';
import { SenderService } from './sender.service.js';

describe('sending deliveries', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    app = await cluster.start({ WEBHOOK_TIMEOUT_MS: '1000' });
  });

  beforeEach(async () => {
    receiver = await FakeReceiver.start();
    organization = await cluster.organization();
  });

  afterEach(() => receiver.stop());
  afterAll(() => cluster.close(), 30_000);

  const delivered = (webhookId: string, count = 1) =>
    eventually(async () => {
      const rows = await cluster.deliveries(webhookId);
      expect(rows.filter(({ status }) => status === 'delivered')).toHaveLength(count);
      return rows;
    });

  it('sends an event to the webhook that is subscribed to it, signed', async () => {
    const webhook = await createWebhook(app, organization, receiver.url, {
      secret: 'top secret',
      headers: [{ key: 'X-Environment', value: 'spec' }],
    });
    const data = { deviceId: 'd-1', hostname: 'höst' };
    const eventId = await cluster.emit(organization, 'device.enrolled', {
      timestamp: '2026-11-20T10:00:00.000Z',
      data,
    });
    const [row] = await delivered(webhook.id);
    const [received] = receiver.received;
    if (!received || !row) throw new Error('nothing came');
    expect(isSignedWith('top secret', received)).toBe(true);
    expect(received.body).toBe(
      JSON.stringify({
        id: eventId,
        type: 'device.enrolled',
        timestamp: '2026-11-20T10:00:00.000Z',
        orgId: organization.orgId,
        data,
      }),
    );
    expect(received.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1.0',
      'x-service-delivery-id': row.id,
      'x-service-event-id': eventId,
      'x-service-event-type': 'device.enrolled',
      'x-environment': 'spec',
    });
    expect(received.headers['x-service-timestamp']).toBe(received.headers['x-service-signature-timestamp']);
    expect(Math.abs(Number(received.headers['x-service-timestamp']) - received.atMs)).toBeLessThan(5_000);
    const shown = await app.get(DeliveriesService).list(organizationCaller(organization), webhook.id, {
      page: 1,
      limit: 50,
    });
    expect(shown.pagination.total).toBe(1);
    expect(shown.data[0]).toMatchObject({
      status: 'delivered',
      event: 'device.enrolled',
      eventId,
      payload: { id: eventId, data },
      responseStatus: 200,
      responseBody: 'ok',
      errorMessage: null,
      attempt: 1,
      maxAttempts: 6,
      nextAttemptAt: null,
    });
    const stats = await app.get(WebhooksService).get(organizationCaller(organization), webhook.id);
    expect(stats).toMatchObject({
      successCount: 1,
      failureCount: 0,
      deliveryStats: { total: 1, pending: 0, delivered: 1, failed: 0, retrying: 0 },
    });
    expect(stats.lastDeliveryAt).not.toBeNull();
  });

  it('does not sign without a secret', async () => {
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await delivered(webhook.id);
    expect(receiver.received[0]?.headers).not.toHaveProperty('x-service-signature');
  });

  it('sends a webhook the first event after its creation', async () => {
    for (let i = 0; i < 10; i += 1) {
      const webhook = await createWebhook(app, organization, `${receiver.url}/${i}`, { events: ['user.login'] });
      await cluster.emit(organization, 'user.login');
      await delivered(webhook.id);
      await app.get(WebhooksService).delete(organizationCaller(organization), webhook.id);
    }
    expect(receiver.received.map(({ path }) => path)).toEqual(Array.from({ length: 10 }, (_, i) => `/hook/${i}`));
  });

  it('sends nothing to other tenants, other types and paused webhooks', async () => {
    const other = await cluster.organization(organization.partnerId);
    const mine = await createWebhook(app, organization, receiver.url);
    const theirs = await createWebhook(app, other, receiver.url);
    const otherType = await createWebhook(app, organization, receiver.url, { events: ['alert.*'] });
    const paused = await createWebhook(app, organization, receiver.url);
    await app.get(WebhooksService).update(organizationCaller(organization), paused.id, { status: 'paused' });
    await cluster.emit(organization);
    await delivered(mine.id);
    expect(receiver.received).toHaveLength(1);
    for (const { id } of [theirs, otherType, paused]) expect(await cluster.deliveries(id)).toEqual([]);
  });

  it('creates one delivery of an event that is published twice, also with another time', async () => {
    const webhook = await createWebhook(app, organization, receiver.url);
    const id = randomUUID();
    const timestamp = new Date().toISOString();
    await cluster.emit(organization, 'device.online', { id, timestamp });
    await cluster.emit(organization, 'device.online', { id, timestamp });
    await delivered(webhook.id);
    await cluster.emit(organization, 'device.online', { id, timestamp: new Date().toISOString() });
    await cluster.emit(organization, 'device.offline');
    await delivered(webhook.id, 2);
    expect(receiver.received.filter(({ headers }) => headers['x-service-event-id'] === id)).toHaveLength(1);
  });

  it('fans one event out, storing its body once', async () => {
    const hooks = await Promise.all(
      [1, 2, 3, 4, 5].map((i) => createWebhook(app, organization, `${receiver.url}/${i}`, { secret: `s${i}` })),
    );
    const eventId = await cluster.emit(organization);
    await Promise.all(hooks.map(({ id }) => delivered(id)));
    expect(receiver.received).toHaveLength(5);
    for (const received of receiver.received) expect(isSignedWith(`s${received.path.at(-1)}`, received)).toBe(true);
    expect(await cluster.rows('select 1 from event_body where event_id = $1', [eventId])).toHaveLength(1);
  });

  it('retries after a 503 with the same id and delivers at the third attempt', async () => {
    let attempts = 0;
    receiver.respond = (response) => response.writeHead(++attempts <= 2 ? 503 : 204).end();
    const webhook = await createWebhook(app, organization, receiver.url, { secret: 'x' });
    await cluster.emit(organization);
    const [row] = await delivered(webhook.id);
    expect(row?.attempt).toBe(3);
    expect(receiver.requestsOf(row?.id ?? '')).toHaveLength(3);
    expect(receiver.received.every((received) => isSignedWith('x', received))).toBe(true);
    const [first, second, third] = receiver.received.map(({ atMs }) => atMs) as [number, number, number];
    expect(second - first).toBeGreaterThanOrEqual(990);
    expect(third - second).toBeGreaterThanOrEqual(1_990);
    const { deliveryStats } = await app.get(WebhooksService).get(organizationCaller(organization), webhook.id);
    expect(deliveryStats).toMatchObject({ total: 1, delivered: 1, retrying: 0, pending: 0 });
  });

  it('respects Retry-After', async () => {
    let attempts = 0;
    receiver.respond = (response) =>
      ++attempts === 1 ? response.writeHead(429, { 'retry-after': '3' }).end() : response.end();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await delivered(webhook.id);
    const [first, second] = receiver.received.map(({ atMs }) => atMs) as [number, number];
    expect(second - first).toBeGreaterThanOrEqual(2_990);
  });

  it('pauses the whole webhook after a 429, in which waiting is no attempt', async () => {
    receiver.respond = (response) =>
      receiver.received.length === 1 ? response.writeHead(429, { 'retry-after': '3' }).end() : response.end();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toMatchObject([{ status: 'retrying' }]));
    for (let i = 0; i < 5; i += 1) await cluster.emit(organization);
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toHaveLength(6));
    await eventually(async () => {
      const rows = await cluster.deliveries(webhook.id);
      expect(rows.map(({ attempt }) => attempt).sort()).toEqual([1, 1, 1, 1, 1, 2]);
      expect(rows.every(({ status }) => status === 'delivered')).toBe(true);
    });
    const [first, second] = receiver.received.map(({ atMs }) => atMs) as [number, number];
    expect(second - first).toBeGreaterThanOrEqual(2_990);
    expect(receiver.received).toHaveLength(7);
  });

  it('creates a dead letter when the retries are used up, and a new delivery for a manual retry', async () => {
    receiver.respond = (response) => response.writeHead(500).end('no\u0000pe');
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.setRetryPolicy(webhook.id, { maxRetries: 1, initialDelayMs: 50 });
    const eventId = await cluster.emit(organization);
    const [failed] = await eventually(async () => {
      const rows = await cluster.deliveries(webhook.id);
      expect(rows).toMatchObject([{ status: 'failed', attempt: 2, error_message: 'HTTP 500: nope' }]);
      return rows;
    });
    expect(
      await cluster.rows('select attempts, event_id from dead_letter where webhook_id = $1', [webhook.id]),
    ).toEqual([{ attempts: 2, event_id: eventId }]);
    const caller = organizationCaller(organization);
    expect(await app.get(WebhooksService).get(caller, webhook.id)).toMatchObject({
      failureCount: 1,
      deliveryStats: { total: 1, failed: 1, retrying: 0, pending: 0 },
    });
    receiver.respond = (response) => response.end();
    const accepted = await app.get(DeliveriesService).retry(caller, webhook.id, failed?.id ?? '');
    expect(accepted.delivery).toMatchObject({ status: 'pending', attempt: 0, webhookId: webhook.id });
    expect(accepted.delivery.id).not.toBe(failed?.id);
    await delivered(webhook.id);
    const [again] = receiver.requestsOf(accepted.delivery.id);
    expect(again?.headers['x-service-event-id']).toBe(eventId);
    expect(again?.body).toBe(receiver.received[0]?.body);
    expect((await cluster.deliveries(webhook.id))[0]).toMatchObject({ id: failed?.id, status: 'failed' });
    await expect(app.get(DeliveriesService).retry(caller, webhook.id, accepted.delivery.id)).rejects.toMatchObject({
      code: 'delivery_not_failed',
    });
  });

  it('aborts an attempt at the time limit, with or without response bytes', async () => {
    receiver.respond = (response) => {
      const timer = setInterval(() => response.write('x'), 50);
      response.once('close', () => clearInterval(timer));
    };
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await eventually(async () => {
      expect(await cluster.deliveries(webhook.id)).toMatchObject([
        { status: 'retrying', attempt: 1, error_message: 'Timeout after 1000 ms' },
      ]);
    });
    await app.get(WebhooksService).delete(organizationCaller(organization), webhook.id);
  });

  it('sends nothing to a URL that has become unsafe and counts the attempt', async () => {
    const webhook = await createWebhook(app, organization, receiver.url);
    const strict = await cluster.start({ OUTBOUND_EXTRA_ALLOWED_CIDRS: '' });
    await cluster.stop(app);
    await cluster.emit(organization);
    await eventually(async () => {
      expect(await cluster.deliveries(webhook.id)).toMatchObject([
        { status: 'retrying', error_message: 'Unsafe webhook URL: the host is in a blocked address range' },
      ]);
    });
    expect(receiver.received).toHaveLength(0);
    await cluster.stop(strict);
    app = await cluster.start({ WEBHOOK_TIMEOUT_MS: '1000' });
  });

  it('uses a new URL and secret from the next attempt on and deletes waiting deliveries with the webhook', async () => {
    receiver.respond = (response) => response.writeHead(500).end();
    const webhook = await createWebhook(app, organization, `${receiver.url}/old`, { secret: 'old' });
    await cluster.emit(organization);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    receiver.respond = (response) => response.end();
    await app
      .get(WebhooksService)
      .update(organizationCaller(organization), webhook.id, { url: `${receiver.url}/new`, secret: 'new' });
    await delivered(webhook.id);
    expect(receiver.received[1]?.path).toBe('/hook/new');
    expect(isSignedWith('new', receiver.received[1] as never)).toBe(true);
    await app.get(WebhooksService).delete(organizationCaller(organization), webhook.id);
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toEqual([]));
  });

  it('fails due deliveries of a paused webhook without sending', async () => {
    receiver.respond = (response) => response.writeHead(500).end();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await app.get(WebhooksService).update(organizationCaller(organization), webhook.id, { status: 'paused' });
    await eventually(async () => {
      expect(await cluster.deliveries(webhook.id)).toMatchObject([
        { status: 'failed', attempt: 1, error_message: 'Webhook is not active' },
      ]);
    });
    expect(receiver.received).toHaveLength(1);
    expect(await cluster.rows('select 1 from dead_letter where webhook_id = $1', [webhook.id])).toEqual([]);
  });

  it('stores the deliveries of a webhook that cannot be opened and sends them when it can', async () => {
    const broken = await createWebhook(app, organization, receiver.url);
    const fine = await createWebhook(app, organization, receiver.url);
    const [{ url }] = await cluster.rows<{ url: string }>('select url_sealed as url from webhook where id = $1', [
      broken.id,
    ]);
    await cluster.rows(`update webhook set url_sealed = 'v1.gone.AAAA' where id = $1`, [broken.id]);
    await cluster.emit(organization);
    await delivered(fine.id);
    await eventually(async () =>
      expect(await cluster.deliveries(broken.id)).toMatchObject([{ status: 'pending', attempt: 0 }]),
    );
    expect(await app.get(MetricsRegistry).registry.metrics()).toMatch(/^rmm_webhook_undecipherable\{.*\} 1$/m);
    const shown = await app.get(WebhooksService).get(organizationCaller(organization), broken.id);
    expect(shown.url).toBe('********');
    expect(receiver.received).toHaveLength(1);
    await cluster.rows('update webhook set url_sealed = $2 where id = $1', [broken.id, url]);
    await app.get(SubscriptionIndexService).refresh();
    await delivered(broken.id);
  });

  it.each(['organization', 'partner'] as const)(
    'keeps the deliveries of a tenant whose %s is not active and sends them when it is',
    async (of) => {
      const webhook = await createWebhook(app, organization, receiver.url);
      const index = app.get(SubscriptionIndexService);
      await cluster.setStatus(organization, of, 'suspended');
      await index.refreshTenants();
      await cluster.emit(organization);
      await eventually(async () => expect(await cluster.deliveries(webhook.id)).toHaveLength(1));
      expect(await cluster.deliveries(webhook.id)).toMatchObject([{ status: 'pending', attempt: 0 }]);
      expect(app.get(SenderService).waitingReason(webhook.id)).toBe('tenant');
      await cluster.setStatus(organization, of, 'active');
      await index.refreshTenants();
      expect(await delivered(webhook.id)).toMatchObject([{ attempt: 1 }]);
    },
  );

  it('leaves out a reserved header that was stored without the API', async () => {
    const webhook = await createWebhook(app, organization, receiver.url, {
      secret: 'real',
      headers: [{ key: 'X-Fine', value: '1' }],
    });
    await cluster.rows(
      `update webhook set headers = headers || jsonb_build_array(
         jsonb_build_object('key', 'x-service-SIGNATURE', 'value', headers->0->>'value'),
         jsonb_build_object('key', 'x-FINE', 'value', headers->0->>'value'))
        where id = $1`,
      [webhook.id],
    );
    await cluster.emit(organization);
    await delivered(webhook.id);
    const [received] = receiver.received;
    if (!received) throw new Error('nothing came');
    expect(isSignedWith('real', received)).toBe(true);
    const names = received.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
  });

  it('terminates unknown events and continues', async () => {
    const webhook = await createWebhook(app, organization, receiver.url, { events: ['*'] });
    await cluster.emit(organization, 'device.exploded');
    await cluster.emit(organization, 'webhook.test');
    await cluster.emit(organization, 'patch.failed');
    const rows = await delivered(webhook.id);
    expect(rows).toHaveLength(1);
  });
});
