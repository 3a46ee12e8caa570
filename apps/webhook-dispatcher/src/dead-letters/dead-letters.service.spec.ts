import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../../test/dispatcher-test-cluster.js';
import type { FakeReceiver } from '../../test/fake-receiver.js';

describe('/webhooks/dead-letters', () => {
  const partnerId = randomUUID();
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let mine: Organization;
  let partner: ApiClient;
  let reader: ApiClient;
  let stranger: ApiClient;
  let unauthorized: ApiClient;
  let system: ApiClient;

  beforeAll(async () => {
    service = await DispatcherTestApp.start();
    ({ cluster, receiver } = service);
    partner = service.partner(partnerId);
    reader = service.partner(partnerId, ['organizations:read']);
    unauthorized = service.partner(partnerId, ['devices:read']);
    stranger = service.partner(randomUUID());
    system = service.operator();
  });

  beforeEach(async () => {
    mine = await cluster.organization(partnerId);
    receiver.received.length = 0;
    receiver.respond = (response) => response.writeHead(500).end('no');
  });

  afterAll(async () => {
    await service.stop();
  });

  const letters = (query: string, as = partner) =>
    as
      .get(`/dead-letters${query}`)
      .expect(200)
      .then(
        ({ body }) => body as { data: Record<string, unknown>[]; pagination: { total: number; nextCursor?: string } },
      );

  /** A webhook whose deliveries die at once, and the first that did. */
  async function deadLetter(): Promise<{ webhookId: string; jobId: string; eventId: string }> {
    const webhook = await service.webhook(mine, {}, { maxRetries: 0 });
    const eventId = await cluster.emit(mine);
    const jobId = await eventually(async () => {
      const [row] = await cluster.rows<{ id: string }>(
        'select delivery_id as id from dead_letter where webhook_id = $1',
        [webhook.id],
      );
      return row?.id ?? Promise.reject(new Error('nothing has died'));
    });
    return { webhookId: webhook.id, jobId, eventId };
  }

  it('lists dead letters newest first, by organization and webhook', async () => {
    const first = await deadLetter();
    const { data, pagination } = await letters(`?webhookId=${first.webhookId}`);
    expect(data).toEqual([
      {
        jobId: first.jobId,
        deliveryId: first.jobId,
        webhookId: first.webhookId,
        orgId: mine.orgId,
        event: 'device.enrolled',
        eventId: first.eventId,
        attempts: 1,
        responseStatus: 500,
        errorMessage: 'HTTP 500: no',
        failedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
    expect(pagination).toEqual({ page: 1, limit: 50, total: 1 });
    const other = await cluster.organization(partnerId);
    mine = other;
    const second = await deadLetter();
    const all = await letters('');
    expect(all.data.map(({ jobId }) => jobId).slice(0, 2)).toEqual([second.jobId, first.jobId]);
    const ofOther = await letters(`?orgId=${other.orgId}`);
    expect(ofOther.data.map(({ jobId }) => jobId)).toEqual([second.jobId]);
    expect((await letters(`?limit=1&page=2`)).data).toMatchObject([{ jobId: first.jobId }]);
    const newest = await letters('?limit=1&cursor=');
    expect(newest.data).toMatchObject([{ jobId: second.jobId }]);
    const { nextCursor } = newest.pagination;
    const next = await letters(`?limit=1&cursor=${nextCursor}`);
    expect(next.data).toMatchObject([{ jobId: first.jobId }]);
    expect(Object.keys(next.pagination)).toEqual(['nextCursor', 'limit']);
    expect((await stranger.get(`/dead-letters?cursor=${nextCursor}`).expect(400)).body.code).toBe('invalid_cursor');
  });

  it('lists all for the platform, their own for others, and refuses other organizations', async () => {
    const { jobId, webhookId } = await deadLetter();
    expect((await letters(`?webhookId=${webhookId}`, system)).data).toMatchObject([{ jobId }]);
    expect((await letters(`?webhookId=${webhookId}`, stranger)).data).toEqual([]);
    expect((await letters('', stranger)).pagination.total).toBe(0);
    const member = service.member(mine, ['organizations:read']);
    expect((await letters('', member)).data).toMatchObject([{ jobId }]);
    const denied = await stranger.get(`/dead-letters?orgId=${mine.orgId}`).expect(403);
    expect(denied.body.code).toBe('organization_access_denied');
    await unauthorized.get('/dead-letters').expect(403);
    await service.anonymous.get('/dead-letters').expect(401);
    for (const wrong of ['orgId=x', 'webhookId=x', 'limit=0', 'page=x']) {
      await reader.get(`/dead-letters?${wrong}`).expect(400);
    }
  });

  it('retries a dead letter as a new delivery and deletes it', async () => {
    const { jobId, webhookId, eventId } = await deadLetter();
    receiver.respond = (response) => response.end();
    const { body } = await partner.post(`/dead-letters/${jobId}/retry`).expect(202);
    expect(body).toEqual({
      message: expect.any(String),
      delivery: { id: expect.any(String), webhookId, status: 'pending', event: 'device.enrolled', attempt: 0 },
    });
    await eventually(() => expect(receiver.requestsOf(body.delivery.id)).toHaveLength(1));
    expect(receiver.requestsOf(body.delivery.id)[0]?.headers['x-service-event-id']).toBe(eventId);
    expect(receiver.requestsOf(body.delivery.id)[0]?.body).toBe(receiver.received[0]?.body);
    expect((await letters(`?webhookId=${webhookId}`)).data).toEqual([]);
    expect((await cluster.deliveries(webhookId))[0]).toMatchObject({ id: jobId, status: 'failed' });
    await cluster.waitForAuditActions(webhookId, ['webhook.create', 'webhook.dead_letter.retry']);
  });

  it('returns 202 to one of several concurrent retries and 404 to the others', async () => {
    const { jobId, webhookId } = await deadLetter();
    receiver.respond = (response) => response.end();
    const responses = await Promise.all([
      ...Array.from({ length: 4 }, () => partner.post(`/dead-letters/${jobId}/retry`)),
      partner.delete(`/dead-letters/${jobId}`),
    ]);
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 404)).toHaveLength(4);
    const accepted = statuses.filter((status) => status === 202).length;
    expect(await cluster.deliveries(webhookId)).toHaveLength(1 + accepted);
  });

  it('keeps the dead letter while its webhook is not active', async () => {
    const { jobId, webhookId } = await deadLetter();
    await partner.patch(`/${webhookId}`, { status: 'paused' }).expect(200);
    const refused = await partner.post(`/dead-letters/${jobId}/retry`).expect(409);
    expect(refused.body.code).toBe('webhook_not_active');
    expect((await letters(`?webhookId=${webhookId}`)).data).toMatchObject([{ jobId }]);
  });

  it('deletes a dead letter; its delivery stays failed and may still be retried', async () => {
    const { jobId, webhookId } = await deadLetter();
    const { body } = await partner.delete(`/dead-letters/${jobId}`).expect(200);
    expect(body).toEqual({ success: true });
    await partner.delete(`/dead-letters/${jobId}`).expect(404);
    expect(await cluster.deliveries(webhookId)).toMatchObject([{ id: jobId, status: 'failed' }]);
    await cluster.waitForAuditActions(webhookId, ['webhook.create', 'webhook.dead_letter.delete']);
    await partner.post(`/${webhookId}/retry/${jobId}`).expect(202);
  });

  it('deletes the dead letter when its delivery is retried or its webhook deleted', async () => {
    const first = await deadLetter();
    await partner.post(`/${first.webhookId}/retry/${first.jobId}`).expect(202);
    const { data } = await letters(`?webhookId=${first.webhookId}`);
    expect(data.map(({ jobId }) => jobId)).not.toContain(first.jobId);
    mine = await cluster.organization(partnerId);
    const second = await deadLetter();
    await partner.delete(`/${second.webhookId}`).expect(200);
    expect((await letters(`?webhookId=${second.webhookId}`)).data).toEqual([]);
    await partner.post(`/dead-letters/${second.jobId}/retry`).expect(404);
  });

  it.each([
    ['post', '/retry'],
    ['delete', ''],
  ] as const)('%s /:jobId%s is closed to others', async (verb, path) => {
    const { jobId, webhookId } = await deadLetter();
    for (const [id, as] of [
      [jobId, stranger],
      [randomUUID(), partner],
      ['nonsense', partner],
    ] as const) {
      const response = await as[verb](`/dead-letters/${id}${path}`).expect(404);
      expect(response.body).toMatchObject({ code: 'not_found', error: 'Dead letter not found' });
    }
    await reader[verb](`/dead-letters/${jobId}${path}`).expect(403);
    await service.anonymous[verb](`/dead-letters/${jobId}${path}`).expect(401);
    expect((await letters(`?webhookId=${webhookId}`)).data).toHaveLength(1);
  });

  it('responds while Redis is unavailable', async () => {
    const retried = await deadLetter();
    mine = await cluster.organization(partnerId);
    const dropped = await deadLetter();
    receiver.respond = (response) => response.end();
    await cluster.stores.redis.stop();
    try {
      expect((await letters('')).data.length).toBeGreaterThan(1);
      const { body } = await partner.post(`/dead-letters/${retried.jobId}/retry`).expect(202);
      await partner.delete(`/dead-letters/${dropped.jobId}`).expect(200);
      await partner.delete(`/dead-letters/${retried.jobId}`).expect(404);
      await eventually(() => expect(receiver.requestsOf(body.delivery.id)).toHaveLength(1));
    } finally {
      await cluster.stores.redis.start();
    }
  });
});
