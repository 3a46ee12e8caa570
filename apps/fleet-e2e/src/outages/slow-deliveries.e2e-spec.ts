import { setTimeout as sleep } from 'node:timers/promises';
import { connectToFleet, eventually } from '@rmm/testing';
import { readMetric } from '../steps.js';
import { query } from '../tenancy/tenant-state.js';
import { eventsFor, WebhookTenants } from '../webhooks/webhook-tenants.js';
import { EventPublisher } from './event-publisher.js';
import { findReplica, untilReady } from './killing.js';
import { SlowReceiver } from './slow-receiver.js';

jest.setTimeout(300_000);

/** Organizations, of which each replica owns some. */
const ORGANIZATIONS = 12;
/** Deliveries of a slow webhook before the replica stops: fewer than open its breaker. */
const EVENTS = 3;
/** Shorter than the time limit of an attempt and than the grace time of the replica. */
const SLOW_MS = 12_000;
const PAUSE_MS = 1_000;
const PARTITIONS = 1_024;

interface DeliveryCount {
  status: string;
  attempt: number;
  deliveries: number;
}

describe('a replica of the dispatcher that is stopped before slow receivers respond', () => {
  const fleet = connectToFleet();
  const tenants = new WebhookTenants(fleet);
  const receiver = new SlowReceiver();
  const publisher = new EventPublisher(fleet, 0);

  afterAll(async () => {
    await receiver.stop();
    await tenants.deleteWebhooks();
    await untilReady();
  });

  const otherPort = fleet.services.find(({ name }) => name === 'webhook-dispatcher')?.instances[1]?.port;

  const countDeliveries = (orgIds: string[]) =>
    query<DeliveryCount>(
      fleet,
      `SELECT status, attempt, count(*)::int AS deliveries FROM webhook_dispatcher.delivery
       WHERE org_id = ANY ($1) GROUP BY status, attempt`,
      [orgIds],
    );

  it('doubles nothing that ends within the grace time, while another takes over and events go on', async () => {
    const url = await receiver.start();
    const urls = Array.from({ length: ORGANIZATIONS }, () => [`${url}/slow`, `${url}/quick`]);
    const organizations = await tenants.addOrganizations(await tenants.addPartner(), urls);
    const stopped = await findReplica('webhook-dispatcher');
    const isRunning = async () => (await findReplica('webhook-dispatcher')).pid === stopped.pid;
    let deliveries = 0;
    const publish = async (count: number) => {
      const events = eventsFor(organizations, count);
      await publisher.publishAll(events);
      deliveries += 2 * events.length;
      return events;
    };
    await publish(EVENTS);
    await eventually(() => expect(receiver.arrivals.size).toBe(deliveries), { timeoutMs: 20_000 });
    expect(await readMetric(stopped.port, 'rmm_webhook_in_flight')).toBeGreaterThan(0);

    const responding = sleep(SLOW_MS);
    process.kill(stopped.pid, 'SIGTERM');
    await eventually(async () => expect(await readMetric(otherPort, 'rmm_webhook_partitions_owned')).toBe(PARTITIONS));
    const taken = await publish(1);
    await eventually(() => expect(taken.every(({ id }) => receiver.quickEvents.has(id))).toBe(true));
    await responding;
    expect(await isRunning()).toBe(true);
    receiver.release();
    while (await isRunning()) {
      await publish(1);
      await sleep(PAUSE_MS);
    }

    const orgIds = organizations.map(({ orgId }) => orgId);
    await eventually(
      async () => expect(await countDeliveries(orgIds)).toEqual([{ status: 'delivered', attempt: 1, deliveries }]),
      { timeoutMs: 60_000 },
    );
    expect(receiver.doubled).toEqual([]);
    expect(receiver.arrivals.size).toBe(deliveries);
  });
});
