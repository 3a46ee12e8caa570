import { randomUUID } from 'node:crypto';
import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import request from 'supertest';
import { createWebhook, DispatcherWorld, type Organization } from '../../test/dispatcher.js';
import { Receiver } from '../../test/receiver.js';
import { SignedIn } from '../../test/signed-in.js';
import { DEAD_LETTER_QUEUE } from '../sending/dead-letter-queue.js';
import { queuePrefix } from '../sending/queue-options.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('/webhooks/dead-letters', () => {
  const signedIn = new SignedIn();
  const partnerId = randomUUID();
  let world: DispatcherWorld;
  let app: INestApplication;
  let receiver: Receiver;
  let redis: Redis;
  let queue: Queue;
  let mine: Organization;
  let partner: string;
  let reader: string;
  let stranger: string;
  let nobody: string;
  let system: string;

  beforeAll(async () => {
    world = await DispatcherWorld.open();
    receiver = await Receiver.start();
    app = await world.start({}, [signedIn.module()]);
    redis = new Redis(world.stores.redisUrl, { maxRetriesPerRequest: null });
    queue = new Queue(DEAD_LETTER_QUEUE, { connection: redis, prefix: queuePrefix(DEAD_LETTER_QUEUE) });
    queue.on('error', () => undefined);
    const person = (of: string, permissions: string[]) =>
      signedIn.as({ scope: 'partner', partnerId: of, orgId: null, permissions });
    partner = person(partnerId, ['organizations:read', 'organizations:write']);
    reader = person(partnerId, ['organizations:read']);
    nobody = person(partnerId, ['devices:read']);
    stranger = person(randomUUID(), ['organizations:read', 'organizations:write']);
    system = signedIn.as({ scope: 'system', partnerId: null, orgId: null, permissions: ['*:*'] });
  }, 60_000);

  beforeEach(async () => {
    mine = await world.organization(partnerId);
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(500).end('no');
  });

  afterAll(async () => {
    await queue.close();
    redis.disconnect();
    await receiver.stop();
    await world.close();
  }, 30_000);

  const call = (verb: 'get' | 'post' | 'delete' | 'patch', path: string, as?: string, body?: object) => {
    const sent = request(app.getHttpServer())[verb](`/api/v1/webhooks${path}`);
    if (as) void sent.set('Authorization', as);
    return body === undefined ? sent : sent.send(body);
  };
  const letters = (query: string, as = partner) =>
    call('get', `/dead-letters${query}`, as)
      .expect(200)
      .then(({ body }) => body as { data: Record<string, unknown>[]; pagination: { total: number } });

  /** A webhook whose deliveries die at once, and the first that did. */
  async function deadLetter(): Promise<{ webhookId: string; jobId: string; eventId: string }> {
    const webhook = await createWebhook(app, mine, receiver.url);
    await world.rows(`update webhook set retry_policy = '{"maxRetries":0}' where id = $1`, [webhook.id]);
    const eventId = await world.emit(mine);
    const jobId = await eventually(async () => {
      const [row] = await world.rows<{ id: string }>(
        'select delivery_id as id from dead_letter where webhook_id = $1',
        [webhook.id],
      );
      return row?.id ?? Promise.reject(new Error('nothing has died'));
    });
    await eventually(async () => expect(await queue.getJob(jobId)).toBeDefined());
    return { webhookId: webhook.id, jobId, eventId };
  }

  it('lists what died, newest first, by organisation and webhook', async () => {
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
    const other = await world.organization(partnerId);
    mine = other;
    const second = await deadLetter();
    const all = await letters('');
    expect(all.data.map(({ jobId }) => jobId).slice(0, 2)).toEqual([second.jobId, first.jobId]);
    const ofOther = await letters(`?orgId=${other.orgId}`);
    expect(ofOther.data.map(({ jobId }) => jobId)).toEqual([second.jobId]);
    expect((await letters(`?limit=1&page=2`)).data).toMatchObject([{ jobId: first.jobId }]);
  });

  it('shows the platform all, others their own, and nobody a foreign organisation', async () => {
    const { jobId, webhookId } = await deadLetter();
    expect((await letters(`?webhookId=${webhookId}`, system)).data).toMatchObject([{ jobId }]);
    expect((await letters(`?webhookId=${webhookId}`, stranger)).data).toEqual([]);
    expect((await letters('', stranger)).pagination.total).toBe(0);
    const member = signedIn.as({ scope: 'organization', ...mine, permissions: ['organizations:read'] });
    expect((await letters('', member)).data).toMatchObject([{ jobId }]);
    const denied = await call('get', `/dead-letters?orgId=${mine.orgId}`, stranger).expect(403);
    expect(denied.body.code).toBe('organization_access_denied');
    await call('get', '/dead-letters', nobody).expect(403);
    await call('get', '/dead-letters').expect(401);
    for (const wrong of ['orgId=x', 'webhookId=x', 'limit=0', 'page=x']) {
      await call('get', `/dead-letters?${wrong}`, reader).expect(400);
    }
  });

  it('sends one again as a new delivery, and takes it away from table and queue', async () => {
    const { jobId, webhookId, eventId } = await deadLetter();
    receiver.answer = (response) => response.end();
    const { body } = await call('post', `/dead-letters/${jobId}/retry`, partner).expect(202);
    expect(body).toEqual({
      message: expect.any(String),
      delivery: { id: expect.any(String), webhookId, status: 'pending', event: 'device.enrolled', attempt: 0 },
    });
    await eventually(() => expect(receiver.of(body.delivery.id)).toHaveLength(1));
    expect(receiver.of(body.delivery.id)[0]?.headers['x-service-event-id']).toBe(eventId);
    expect(receiver.of(body.delivery.id)[0]?.body).toBe(receiver.received[0]?.body);
    expect((await letters(`?webhookId=${webhookId}`)).data).toEqual([]);
    await eventually(async () => expect(await queue.getJob(jobId)).toBeUndefined());
    expect((await world.deliveries(webhookId))[0]).toMatchObject({ id: jobId, status: 'failed' });
    await eventually(async () => {
      expect((await world.audited(webhookId)).map(({ data }) => data.action)).toEqual([
        'webhook.create',
        'webhook.dead_letter.retry',
      ]);
    });
  });

  it('lets one of several that come at once have it; for the others it is gone', async () => {
    const { jobId, webhookId } = await deadLetter();
    receiver.answer = (response) => response.end();
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => call('post', `/dead-letters/${jobId}/retry`, partner)),
      call('delete', `/dead-letters/${jobId}`, partner),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 404)).toHaveLength(4);
    const made = statuses.filter((status) => status === 202).length;
    expect(await world.deliveries(webhookId)).toHaveLength(1 + made);
  });

  it('keeps it while its webhook is not active', async () => {
    const { jobId, webhookId } = await deadLetter();
    await call('patch', `/${webhookId}`, partner, { status: 'paused' }).expect(200);
    const refused = await call('post', `/dead-letters/${jobId}/retry`, partner).expect(409);
    expect(refused.body.code).toBe('webhook_not_active');
    expect((await letters(`?webhookId=${webhookId}`)).data).toMatchObject([{ jobId }]);
    expect(await queue.getJob(jobId)).toBeDefined();
  });

  it('drops one; its delivery stays failed and may still be retried', async () => {
    const { jobId, webhookId } = await deadLetter();
    const { body } = await call('delete', `/dead-letters/${jobId}`, partner).expect(200);
    expect(body).toEqual({ success: true });
    await call('delete', `/dead-letters/${jobId}`, partner).expect(404);
    await eventually(async () => expect(await queue.getJob(jobId)).toBeUndefined());
    expect(await world.deliveries(webhookId)).toMatchObject([{ id: jobId, status: 'failed' }]);
    await eventually(async () => {
      expect((await world.audited(webhookId)).map(({ data }) => data.action)).toEqual([
        'webhook.create',
        'webhook.dead_letter.delete',
      ]);
    });
    await call('post', `/${webhookId}/retry/${jobId}`, partner).expect(202);
  });

  it('goes when its delivery is retried by hand, and with its webhook', async () => {
    const first = await deadLetter();
    await call('post', `/${first.webhookId}/retry/${first.jobId}`, partner).expect(202);
    await eventually(async () => expect(await queue.getJob(first.jobId)).toBeUndefined());
    const { data } = await letters(`?webhookId=${first.webhookId}`);
    expect(data.map(({ jobId }) => jobId)).not.toContain(first.jobId);
    mine = await world.organization(partnerId);
    const second = await deadLetter();
    await call('delete', `/${second.webhookId}`, partner).expect(200);
    expect((await letters(`?webhookId=${second.webhookId}`)).data).toEqual([]);
    await call('post', `/dead-letters/${second.jobId}/retry`, partner).expect(404);
    await eventually(async () => expect(await queue.getJob(second.jobId)).toBeUndefined());
  });

  it('does not need its job: the table is the record', async () => {
    const { jobId } = await deadLetter();
    await queue.remove(jobId);
    await call('post', `/dead-letters/${jobId}/retry`, partner).expect(202);
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
      const answer = await call(verb, `/dead-letters/${id}${path}`, as).expect(404);
      expect(answer.body).toMatchObject({ code: 'not_found', error: 'Dead letter not found' });
    }
    await call(verb, `/dead-letters/${jobId}${path}`, reader).expect(403);
    await call(verb, `/dead-letters/${jobId}${path}`).expect(401);
    expect((await letters(`?webhookId=${webhookId}`)).data).toHaveLength(1);
  });

  it('answers while Redis is away', async () => {
    const retried = await deadLetter();
    mine = await world.organization(partnerId);
    const dropped = await deadLetter();
    receiver.answer = (response) => response.end();
    await world.stores.redis.stop();
    try {
      expect((await letters('')).data.length).toBeGreaterThan(1);
      const { body } = await call('post', `/dead-letters/${retried.jobId}/retry`, partner).expect(202);
      await call('delete', `/dead-letters/${dropped.jobId}`, partner).expect(200);
      await call('delete', `/dead-letters/${retried.jobId}`, partner).expect(404);
      await eventually(() => expect(receiver.of(body.delivery.id)).toHaveLength(1), { timeoutMs: 20_000 });
    } finally {
      await world.stores.redis.start();
    }
  });
});
