import request from 'supertest';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../../test/dispatcher-test-cluster.js';
import type { FakeReceiver } from '../../test/fake-receiver.js';

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

  it('counts what is due, waits for its retry and died, and the partitions of each replica', async () => {
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
        queues: [{ name: 'webhook-background', jobs: { waiting: 0, delayed: 0, active: 0, failed: 0 } }],
        deliveries: { due: 1, scheduled: 1, oldestDueSeconds: expect.any(Number) },
        deadLetters: 1,
      });
      return response.body as { replicas: object[] };
    });
    expect(body.replicas).toEqual([
      { id: expect.any(String), startedAt: expect.any(String), heartbeatAt: expect.any(String), partitions: 1_024 },
    ]);
  });

  it('exports the counts to Prometheus', async () => {
    const scrape = async () => {
      const { text } = await request(service.app.getHttpServer()).get('/metrics').expect(200);
      return (name: string) => Number(new RegExp(`^${name}\\{.*\\} (.+)$`, 'm').exec(text)?.[1]);
    };
    await eventually(async () => {
      const value = await scrape();
      expect(value('rmm_webhook_in_flight')).toBe(1);
      expect(value('rmm_webhook_in_memory')).toBe(1);
      expect(value('rmm_webhook_partitions_owned')).toBe(1_024);
      expect(value('rmm_webhook_first_attempt_delay_seconds_count')).toBe(2);
    });
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
      expect(body.queues).toEqual([{ name: 'webhook-background', jobs: null }]);
      expect(body.deadLetters).toBe(1);
    } finally {
      await cluster.stores.redis.start();
    }
  });

  it('returns how long the oldest delivery has been due, and each replica', async () => {
    await service.startReplica();
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at)
       values (gen_random_uuid(), now(), $1, $2, gen_random_uuid(), 'device.online', 'e', 6, now() - interval '100 s')`,
      [mine.partnerId, mine.orgId],
    );
    await eventually(async () => {
      const { body } = await system.get('/queues').expect(200);
      expect(body.deliveries.oldestDueSeconds).toBeGreaterThanOrEqual(100);
      expect((body.replicas as { partitions: number }[]).map(({ partitions }) => partitions)).toEqual([512, 512]);
    });
  });
});
