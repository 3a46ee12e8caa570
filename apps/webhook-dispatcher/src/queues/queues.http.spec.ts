import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import request from 'supertest';
import { createWebhook, DispatcherWorld, type Organization } from '../../test/dispatcher.js';
import { Receiver } from '../../test/receiver.js';
import { SignedIn } from '../../test/signed-in.js';
import { Parking } from '../sending/parking.js';
import { Sweeper } from '../sending/sweeper.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('GET /webhooks/queues', () => {
  const signedIn = new SignedIn();
  let world: DispatcherWorld;
  let app: INestApplication;
  let receiver: Receiver;
  let mine: Organization;
  let system: string;

  beforeAll(async () => {
    world = await DispatcherWorld.open();
    receiver = await Receiver.start();
    app = await world.start({}, [signedIn.module()]);
    mine = await world.organization();
    system = signedIn.as({ scope: 'system', partnerId: null, orgId: null, permissions: ['*:*'] });
  }, 60_000);

  afterAll(async () => {
    await receiver.stop();
    await world.close();
  }, 30_000);

  const call = (as?: string) => {
    const sent = request(app.getHttpServer()).get('/api/v1/webhooks/queues');
    return as ? sent.set('Authorization', as) : sent;
  };

  it('counts what is in flight, waits for its retry, died, and who holds it', async () => {
    receiver.answer = (response, { headers }) =>
      headers['x-service-event-type'] === 'device.online' ? undefined : response.writeHead(500).end();
    const webhook = await createWebhook(app, mine, receiver.url, { events: ['device.*'] });
    const dying = await createWebhook(app, mine, receiver.url, { events: ['patch.failed'] });
    await world.rows(
      `update webhook set retry_policy = '{"initialDelayMs":3600000,"maxDelayMs":3600000}' where id = $1`,
      [webhook.id],
    );
    await world.rows(`update webhook set retry_policy = '{"maxRetries":0}' where id = $1`, [dying.id]);
    await world.emit(mine, 'device.online');
    await world.emit(mine, 'device.offline');
    await world.emit(mine, 'patch.failed');
    const body = await eventually(async () => {
      const answer = await call(system).expect(200);
      expect(answer.body).toMatchObject({
        queues: [
          { name: 'webhook-retries', jobs: { waiting: 0, delayed: 1, active: 0, failed: 0 } },
          { name: 'webhook-dead-letters', jobs: { waiting: 1, delayed: 0, active: 0, failed: 0 } },
        ],
        deliveries: { due: 0, scheduled: 1, held: 1, oldestDueSeconds: null },
        deadLetters: 1,
      });
      return answer.body as { replicas: object[] };
    });
    expect(body.replicas).toEqual([
      { id: expect.any(String), startedAt: expect.any(String), leaseUntil: expect.any(String), held: 1 },
    ]);
  });

  it('is told to Prometheus as well, what waits in the table included', async () => {
    // As while an organisation has too much under way.
    await app.get(Parking).stop();
    await world.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, lease_owner)
       select gen_random_uuid(), now(), $1, $2, gen_random_uuid(), 'device.online', 'parked' || n, 6, $2
         from generate_series(1, 3) as n`,
      [mine.partnerId, mine.orgId],
    );
    await eventually(
      async () => {
        const { text } = await request(app.getHttpServer()).get('/metrics').expect(200);
        const value = (name: string) => Number(new RegExp(`^${name}\\{.*\\} (.+)$`, 'm').exec(text)?.[1]);
        expect(value('rmm_webhook_waiting')).toBe(3);
        expect(value('rmm_webhook_queue_depth')).toBe(0);
        expect(value('rmm_webhook_in_flight')).toBe(1);
        expect(value('rmm_webhook_shards_owned')).toBe(64);
      },
      { timeoutMs: 25_000 },
    );
    await world.rows('delete from delivery where lease_owner = org_id');
  });

  it('is for the platform alone', async () => {
    const permissions = ['organizations:read', 'organizations:write'];
    const partner = signedIn.as({ scope: 'partner', partnerId: mine.partnerId, orgId: null, permissions });
    const member = signedIn.as({ scope: 'organization', ...mine, permissions });
    for (const as of [partner, member]) {
      expect((await call(as).expect(403)).body.code).toBe('scope_not_allowed');
    }
    await call().expect(401);
  });

  it('answers while Redis is away, without the jobs', async () => {
    await world.stores.redis.stop();
    try {
      const { body } = await call(system).expect(200);
      expect(body.queues).toEqual([
        { name: 'webhook-retries', jobs: null },
        { name: 'webhook-dead-letters', jobs: null },
      ]);
      expect(body.deadLetters).toBe(1);
    } finally {
      await world.stores.redis.start();
    }
  });

  it('says how long the oldest has been due that nobody takes', async () => {
    const own = await world.start({}, [signedIn.module()]);
    // A sender that is stopped leaves what is due where it is.
    for (const replica of [app, own]) await replica.get(Sweeper).stop();
    await world.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at)
       values (gen_random_uuid(), now(), $1, $2, gen_random_uuid(), 'device.online', 'e', 6, now() - interval '100 s')`,
      [mine.partnerId, mine.orgId],
    );
    const { body } = await call(system).expect(200);
    expect(body.deliveries).toMatchObject({ due: 1 });
    expect(body.deliveries.oldestDueSeconds).toBeGreaterThanOrEqual(100);
    expect(body.replicas).toHaveLength(2);
  });
});
