import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { eventually, connectToFleet, createOrganization, partnerWithMfa, type ApiClient } from '@rmm/testing';
import { createWebhook, must } from '../steps.js';
import { CountingReceivers } from './counting-receivers.js';
import { EventPublisher } from './event-publisher.js';
import { killService, signalStore, untilReady } from './killing.js';

jest.setTimeout(600_000);

const EVENTS = 500;
const WEBHOOKS = 20;
const DELIVERIES = EVENTS * WEBHOOKS;
/** Deliveries after which the fault is injected. */
const AFTER = 3_000;
/** Time in milliseconds after which the outcome of an attempt is certainly written. */
const WRITTEN_AFTER_MS = 3_000;

describe('ten thousand deliveries', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let receivers: CountingReceivers;
  afterEach(async () => {
    await receivers.stop();
    await untilReady();
  });

  const statuses = async (orgId: string) => {
    const db = new pg.Client({ connectionString: fleet.databaseUrl });
    await db.connect();
    try {
      const { rows } = await db.query<{ status: string; n: number }>(
        'select status, count(*)::int as n from webhook_dispatcher.delivery where org_id = $1 group by status',
        [orgId],
      );
      return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
    } finally {
      await db.end();
    }
  };

  /** Sends all deliveries, injects the fault in the middle, and checks the state of each delivery. */
  async function survive(fault: () => Promise<unknown>): Promise<void> {
    client = (await partnerWithMfa(fleet)).client;
    const { orgId } = await createOrganization(client);
    receivers = new CountingReceivers();
    const webhooks = await Promise.all(
      (await receivers.start(WEBHOOKS)).map((url) =>
        createWebhook(client, orgId, { url, events: ['alert.triggered'] }),
      ),
    );
    const publisher = new EventPublisher(fleet);
    const events = Array.from({ length: EVENTS }, () => ({
      id: randomUUID(),
      type: 'alert.triggered',
      orgId,
      data: { alertId: randomUUID(), severity: 'warning', title: 'Disk almost full' },
    }));
    const published = publisher.publishAll(events);

    await eventually(() => expect(receivers.accepted.size).toBeGreaterThan(AFTER), { timeoutMs: 180_000, everyMs: 5 });
    const faultAt = performance.now();
    await fault();
    await published;

    await eventually(async () => expect(await statuses(orgId)).toEqual({ delivered: DELIVERIES }), {
      timeoutMs: 180_000,
      everyMs: 500,
    });
    expect(receivers.accepted.size).toBe(DELIVERIES);
    const early = receivers.doubled.filter(({ firstAt }) => firstAt < faultAt - WRITTEN_AFTER_MS);
    expect(early).toEqual([]);
    const counted = await Promise.all(webhooks.map(({ id }) => client.get(`/webhooks/${id}`)));
    for (const response of counted) {
      expect(must(response, 200)).toMatchObject({
        successCount: EVENTS,
        failureCount: 0,
        deliveryStats: { total: EVENTS, delivered: EVENTS, pending: 0, retrying: 0, failed: 0 },
      });
    }
    process.stdout.write(`    ${receivers.doubled.length} doubled\n`);
  }

  it('all arrive when the dispatcher is killed', () => survive(() => killService('webhook-dispatcher')));

  it('all arrive once when Redis is flushed', async () => {
    await survive(async () => {
      const redis = new Redis(fleet.redisUrl);
      await redis.flushall();
      redis.disconnect();
    });
    expect(receivers.doubled).toEqual([]);
  });

  it('all arrive when NATS is killed', () => survive(() => signalStore('nats', 'SIGKILL')));

  it('all arrive when PostgreSQL is killed', () => survive(() => signalStore('postgres', 'SIGKILL')));
});
