import request from 'supertest';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../../test/dispatcher-test-cluster.js';
import type { FakeReceiver } from '../../test/fake-receiver.js';
import { BacklogService } from '../sending/backlog.service.js';
import { SweeperService } from '../sending/sweeper.service.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('GET /webhooks/queues', () => {
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let mine: Organization;
  let system: ApiClient;

  beforeAll(async () => {
    service = await DispatcherTestApp.start();
    ({ cluster, receiver } = service);
    mine = await cluster.organization();
    system = service.operator();
  });

  afterAll(() => service.stop());

  it('counts what is in flight, waits for its retry, died, and who holds it', async () => {
    receiver.respond = (response, { headers }) =>
      headers['x-service-event-type'] === 'device.online' ? undefined : response.writeHead(500).end();
    await service.webhook(mine, { events: ['device.*'] }, { initialDelayMs: 3_600_000, maxDelayMs: 3_600_000 });
    await service.webhook(mine, { events: ['patch.failed'] }, { maxRetries: 0 });
    await cluster.emit(mine, 'device.online');
    await cluster.emit(mine, 'device.offline');
    await cluster.emit(mine, 'patch.failed');
    const body = await eventually(async () => {
      const response = await system.get('/queues').expect(200);
      expect(response.body).toMatchObject({
        queues: [
          { name: 'webhook-retries', jobs: { waiting: 0, delayed: 1, active: 0, failed: 0 } },
          { name: 'webhook-dead-letters', jobs: { waiting: 1, delayed: 0, active: 0, failed: 0 } },
        ],
        deliveries: { due: 0, scheduled: 1, held: 1, oldestDueSeconds: null },
        deadLetters: 1,
      });
      return response.body as { replicas: object[] };
    });
    expect(body.replicas).toEqual([
      { id: expect.any(String), startedAt: expect.any(String), leaseUntil: expect.any(String), held: 1 },
    ]);
  });

  it('exports the counts to Prometheus, with those waiting in the table', async () => {
    const scrape = async () => {
      const { text } = await request(service.app.getHttpServer()).get('/metrics').expect(200);
      return (name: string) => Number(new RegExp(`^${name}\\{.*\\} (.+)$`, 'm').exec(text)?.[1]);
    };
    // First what ends by itself: the attempt times out.
    await eventually(async () => expect((await scrape())('rmm_webhook_in_flight')).toBe(1));
    // As while an organization has too much under way.
    await service.app.get(BacklogService).stop();
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, lease_owner)
       select gen_random_uuid(), now(), $1, $2, gen_random_uuid(), 'device.online', 'backlog' || n, 6, $2
         from generate_series(1, 3) as n`,
      [mine.partnerId, mine.orgId],
    );
    await eventually(
      async () => {
        const value = await scrape();
        expect(value('rmm_webhook_waiting')).toBe(3);
        expect(value('rmm_webhook_queue_depth')).toBe(0);
        expect(value('rmm_webhook_shards_owned')).toBe(64);
      },
      { timeoutMs: 40_000 },
    );
    await cluster.rows('delete from delivery where lease_owner = org_id');
  });

  it('is for the platform alone', async () => {
    const partner = service.partner(mine.partnerId);
    const member = service.member(mine);
    for (const as of [partner, member]) {
      expect((await as.get('/queues').expect(403)).body.code).toBe('scope_not_allowed');
    }
    await service.anonymous.get('/queues').expect(401);
  });

  it('answers while Redis is away, without the jobs', async () => {
    await cluster.stores.redis.stop();
    try {
      const { body } = await system.get('/queues').expect(200);
      expect(body.queues).toEqual([
        { name: 'webhook-retries', jobs: null },
        { name: 'webhook-dead-letters', jobs: null },
      ]);
      expect(body.deadLetters).toBe(1);
    } finally {
      await cluster.stores.redis.start();
    }
  });

  it('returns how long the oldest unclaimed delivery has been due', async () => {
    const own = await service.startReplica();
    // A sender that is stopped leaves what is due where it is.
    for (const replica of [service.app, own]) await replica.get(SweeperService).stop();
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at)
       values (gen_random_uuid(), now(), $1, $2, gen_random_uuid(), 'device.online', 'e', 6, now() - interval '100 s')`,
      [mine.partnerId, mine.orgId],
    );
    const { body } = await system.get('/queues').expect(200);
    expect(body.deliveries).toMatchObject({ due: 1 });
    expect(body.deliveries.oldestDueSeconds).toBeGreaterThanOrEqual(100);
    expect(body.replicas).toHaveLength(2);
  });
});
