import { eventually, connectToFleet, createOrganization, partnerWithMfa, type ApiClient } from '@rmm/testing';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { makeWebhook, must } from '../steps.js';
import { CountingReceivers } from './counting-receivers.js';
import { EventPublisher } from './event-publisher.js';
import { killService, signalStore, untilReady } from './killing.js';

jest.setTimeout(240_000);

const EVENTS = 1_000;
const WEBHOOKS = 20;
const DELIVERIES = EVENTS * WEBHOOKS;
/** When the fault comes: in the middle. */
const AFTER = 6_000;
/** What was answered so long before the fault has its outcome written; in milliseconds. */
const WRITTEN_AFTER_MS = 3_000;

describe('twenty thousand deliveries', () => {
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

  /** Sends them all, lets the fault happen in the middle, and looks at what has become of each. */
  async function survive(fault: () => Promise<unknown>): Promise<void> {
    client = (await partnerWithMfa(fleet)).client;
    const { orgId } = await createOrganization(client);
    receivers = new CountingReceivers();
    const webhooks = await Promise.all(
      (await receivers.start(WEBHOOKS)).map((url) => makeWebhook(client, orgId, { url, events: ['alert.triggered'] })),
    );
    const publisher = new EventPublisher(fleet);
    const events = Array.from({ length: EVENTS }, () => ({
      id: randomUUID(),
      type: 'alert.triggered',
      orgId,
      data: { alertId: randomUUID(), severity: 'warning', title: 'Disk almost full' },
    }));
    const published = publisher.publishAll(events);

    await eventually(() => expect(receivers.accepted.size).toBeGreaterThan(AFTER), { timeoutMs: 60_000, everyMs: 5 });
    const faultAt = performance.now();
    await fault();
    await published;

    await eventually(async () => expect(await statuses(orgId)).toEqual({ delivered: DELIVERIES }), {
      timeoutMs: 150_000,
      everyMs: 500,
    });
    expect(receivers.accepted.size).toBe(DELIVERIES);
    const early = receivers.doubled.filter(({ firstAt }) => firstAt < faultAt - WRITTEN_AFTER_MS);
    expect(early).toEqual([]);
    const counted = await Promise.all(webhooks.map(({ id }) => client.get(`/webhooks/${id}`)));
    for (const answer of counted) {
      expect(must(answer, 200)).toMatchObject({
        successCount: EVENTS,
        failureCount: 0,
        deliveryStats: { total: EVENTS, delivered: EVENTS, pending: 0, retrying: 0, failed: 0 },
      });
    }
    process.stdout.write(`    ${receivers.doubled.length} doubled\n`);
  }

  it('all arrive though the dispatcher is killed', () => survive(() => killService('webhook-dispatcher')));

  it('all arrive, once, though Redis is emptied', async () => {
    await survive(async () => {
      const redis = new Redis(fleet.redisUrl);
      await redis.flushall();
      redis.disconnect();
    });
    expect(receivers.doubled).toEqual([]);
  });

  it('all arrive though NATS is killed', () => survive(() => signalStore('nats', 'SIGKILL')));

  it('all arrive though PostgreSQL is killed', () => survive(() => signalStore('postgres', 'SIGKILL')));
});
