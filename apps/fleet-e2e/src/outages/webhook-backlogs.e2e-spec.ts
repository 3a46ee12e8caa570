import { readFileSync } from 'node:fs';
import path from 'node:path';
import { connectToFleet, eventually, readFleetStatus, type ApiClient } from '@rmm/testing';
import { must } from '../steps.js';
import { BehavingReceiver } from '../webhooks/behaving-receiver.js';
import { eventsFor, WebhookTenants, type WebhookTenant } from '../webhooks/webhook-tenants.js';
import { EventPublisher, type PublishedEvent } from './event-publisher.js';

jest.setTimeout(600_000);

const PARTNERS = 4;
const LARGE = 'x'.repeat(240_000);
/** Responds to no connection: no service listens on it. */
const CLOSED_PORT = 9;

describe('events arrive at quiet tenants', () => {
  const fleet = connectToFleet();
  const tenants = new WebhookTenants(fleet);
  const publisher = new EventPublisher(fleet, 0);
  let receiver: BehavingReceiver;
  let quietReceiver: BehavingReceiver;
  let partners: ApiClient[];

  beforeAll(async () => {
    partners = [];
    for (let n = 0; n < PARTNERS; n += 1) partners.push(await tenants.addPartner());
  });
  beforeEach(async () => {
    receiver = await new BehavingReceiver().start();
    quietReceiver = await new BehavingReceiver().start();
  });
  afterEach(async () => {
    await tenants.deleteWebhooks();
    await receiver.stop();
    await quietReceiver.stop();
  });

  /** Creates organizations of every partner, each with webhooks to the URLs of its number. */
  const addToEachPartner = async (organizations: number, urlsOf: (n: number) => string[]) => {
    const created: WebhookTenant[] = [];
    for (const [p, client] of partners.entries()) {
      const urls = Array.from({ length: organizations }, (_, n) => urlsOf(p * organizations + n));
      created.push(...(await tenants.addOrganizations(client, urls)));
    }
    return created;
  };

  const untilAccepted = (name: string, events: readonly PublishedEvent[], timeoutMs: number) =>
    eventually(
      () => {
        const accepted = quietReceiver.acceptedBy(name);
        expect(`${events.filter(({ id }) => accepted.has(id)).length} arrived`).toBe(`${events.length} arrived`);
      },
      { timeoutMs, everyMs: 250 },
    );

  /** Publishes two rounds for the quiet tenants and waits for each. */
  const quietRounds = async (quiet: WebhookTenant[]) => {
    for (const timeoutMs of [60_000, 15_000]) {
      const events = eventsFor(quiet, 5);
      await publisher.publishAll(events);
      await untilAccepted('quiet', events, timeoutMs);
    }
  };

  const dispatcherPids = async () =>
    (await readFleetStatus()).services
      .find(({ name }) => name === 'webhook-dispatcher')
      ?.instances.map(({ pid }) => pid);

  it('while 112 organizations of the same partners have 300 deliveries each for one origin that hangs', async () => {
    const hung = await addToEachPartner(28, (n) => [1, 2, 3, 4].map((w) => receiver.url('hang', `${n}-${w}`)));
    const quiet = await addToEachPartner(5, () => [quietReceiver.url('ok', 'quiet')]);
    await publisher.publishAll(eventsFor(hung, 75));
    await quietRounds(quiet);
  });

  it('that have retries due while 24,000 deliveries of 384 origins are refused', async () => {
    const refusing = await addToEachPartner(12, (n) =>
      Array.from({ length: 8 }, (_, w) => `http://127.9.${n}.${w + 1}:${CLOSED_PORT}/`),
    );
    const quiet = await addToEachPartner(5, () => [quietReceiver.url('refuse once', 'quiet')]);
    await publisher.publishAll(eventsFor(refusing, 63));
    const [client] = partners;
    const [{ webhookIds }] = refusing;
    await eventually(
      async () => {
        const { deliveryStats } = must(await client.get(`/webhooks/${webhookIds[0]}`), 200);
        expect(deliveryStats.retrying).toBeGreaterThan(0);
      },
      { timeoutMs: 60_000, everyMs: 500 },
    );
    await quietRounds(quiet);
  });

  it('while 300 events of 240 KB wait for receivers of eight organizations that hang', async () => {
    const pids = await dispatcherPids();
    const cutsBefore = slowConsumers();
    const hung = await addToEachPartner(2, (n) => [receiver.url('hang', `large${n}`)]);
    const quiet = await addToEachPartner(2, () => [quietReceiver.url('ok', 'quiet')]);
    const burst = publisher.publishAll(eventsFor(hung, 38, { note: LARGE }));
    await quietRounds(quiet);
    await burst;
    await quietRounds(quiet);
    expect(await dispatcherPids()).toEqual(pids);
    expect(slowConsumers()).toBe(cutsBefore);
  });

  /** Returns how often NATS has disconnected a client that did not read fast enough. */
  const slowConsumers = () => {
    const log = readFileSync(path.resolve(fleet.logs, 'nats.log'), 'utf8');
    return log.split('Slow Consumer').length - 1;
  };
});
