import { connectToFleet, eventually } from '@rmm/testing';
import { EventPublisher, type PublishedEvent } from '../outages/event-publisher.js';
import { BehavingReceiver } from './behaving-receiver.js';
import { eventsFor, WebhookTenants } from './webhook-tenants.js';

jest.setTimeout(120_000);

/** Shorter than an attempt at a receiver that hangs, which takes 30 seconds. */
const BEFORE_A_TIMEOUT_MS = 25_000;

describe('events arrive at a healthy webhook', () => {
  const fleet = connectToFleet();
  const tenants = new WebhookTenants(fleet);
  const publisher = new EventPublisher(fleet, 0);
  let receiver: BehavingReceiver;
  let other: BehavingReceiver;

  beforeEach(async () => {
    receiver = await new BehavingReceiver().start();
    other = await new BehavingReceiver().start();
  });
  afterEach(async () => {
    await tenants.deleteWebhooks();
    await receiver.stop();
    await other.stop();
  });

  /** Waits until all events got 200 under that name. */
  const untilAccepted = (by: BehavingReceiver, name: string, events: readonly PublishedEvent[], timeoutMs: number) =>
    eventually(
      () => {
        const accepted = by.acceptedBy(name);
        expect(`${events.filter(({ id }) => accepted.has(id)).length} arrived`).toBe(`${events.length} arrived`);
      },
      { timeoutMs, everyMs: 250 },
    );

  it('while another webhook of its organization hangs with 2,000 deliveries', async () => {
    const client = await tenants.addPartner();
    const tenant = await tenants.addOrganizations(client, [[receiver.url('hang', 'hung'), other.url('ok', 'healthy')]]);
    const events = eventsFor(tenant, 2_000);
    await publisher.publishAll(events);
    await untilAccepted(other, 'healthy', events, 40_000);

    const later = eventsFor(tenant, 20);
    await publisher.publishAll(later);
    await untilAccepted(other, 'healthy', later, 10_000);
    expect(receiver.attemptedAt('hung').size).toBeGreaterThan(0);
  });

  it('while another tenant hangs at the same origin', async () => {
    const [theirs, ours] = [await tenants.addPartner(), await tenants.addPartner()];
    const hung = await tenants.addOrganizations(theirs, [[1, 2].map((n) => receiver.url('hang', `hung${n}`))]);
    const healthy = await tenants.addOrganizations(ours, [[receiver.url('ok', 'healthy')]]);
    await publisher.publishAll(eventsFor(hung, 200));
    await eventually(() => expect(receiver.attemptedAt('hung1').size).toBeGreaterThan(0));

    const events = eventsFor(healthy, 100);
    await publisher.publishAll(events);
    await untilAccepted(receiver, 'healthy', events, BEFORE_A_TIMEOUT_MS);
  });
});
