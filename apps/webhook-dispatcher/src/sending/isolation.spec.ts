import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import { createWebhook, DispatcherTestCluster, type Organization } from '../../test/dispatcher-test-cluster.js';
import { type Responder, FakeReceiver } from '../../test/fake-receiver.js';
import { SenderService } from './sender.service.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(180_000);

const NOISE = 2_000;
const QUIET = 50;
const TIMEOUT_MS = 5_000;
/** The concurrent attempts at an origin: one wave of those without a response. */
const WAVE = 10;

const hang: Responder = () => undefined;
const drip: Responder = (response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write('.'), 100);
  response.once('close', () => clearInterval(timer));
};
const fail: Responder = (response) => response.writeHead(500).end();

describe('isolation', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let noisy: FakeReceiver;
  let quiet: FakeReceiver;
  let noise: Organization;
  let others: Organization;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
  });

  beforeEach(async () => {
    [noisy, quiet] = await Promise.all([FakeReceiver.start(), FakeReceiver.start()]);
  });

  afterEach(async () => {
    await cluster.stop(app);
    await Promise.all([noisy.stop(), quiet.stop()]);
    // What is left would go on while the next case runs.
    await cluster.rows(`update delivery set status = 'failed' where status in ('pending', 'retrying')`);
  });
  afterAll(() => cluster.close(), 30_000);

  const start = async (changes: Record<string, string> = {}) => {
    app = await cluster.start({ WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS), SHUTDOWN_GRACE_SECONDS: '1', ...changes });
    [noise, others] = [await cluster.organization(), await cluster.organization()];
  };
  /** Thousands of deliveries of one organization for one receiver. */
  const startNoise = async (url = noisy.url) => {
    const webhook = await createWebhook(app, noise, url);
    await Promise.all(Array.from({ length: NOISE }, () => cluster.emit(noise)));
    await eventually(async () => expect(await count(webhook.id)).toBe(NOISE), { timeoutMs: 60_000 });
    return webhook;
  };
  /** One event for fifty webhooks: all of them are queued in the same moment. */
  const sendQuietly = async () => {
    for (let i = 0; i < QUIET; i += 1) await createWebhook(app, others, `${quiet.url}/${i}`);
    const noiseBefore = noisy.received.length;
    await cluster.emit(others);
    await eventually(() => expect(quiet.received).toHaveLength(QUIET), { timeoutMs: 60_000 });
    return noisy.received.length - noiseBefore;
  };
  const count = async (webhookId: string, condition = 'true') =>
    (
      await cluster.rows<{ n: number }>(
        `select count(*)::int as n from delivery where webhook_id = $1 and ${condition}`,
        [webhookId],
      )
    )[0]?.n;

  it.each([
    ['hangs', hang],
    ['drips', drip],
  ])('sends to other receivers despite thousands of deliveries to one that %s', async (_, respond) => {
    await start();
    noisy.respond = respond;
    await startNoise();
    const noiseMeanwhile = await sendQuietly();
    expect(noiseMeanwhile).toBeLessThanOrEqual(3 * WAVE);
  });

  it('alternates with thousands of deliveries to a receiver that returns 500 when capacity is scarce', async () => {
    await start({ WEBHOOK_WORKER_CONCURRENCY: '4' });
    noisy.respond = fail;
    await startNoise();
    const order: string[] = [];
    noisy.respond = (response, received) => {
      order.push('noise');
      fail(response, received);
    };
    quiet.respond = (response) => {
      order.push('quiet');
      response.end();
    };
    await sendQuietly();
    const meanwhile = order.slice(order.indexOf('quiet'), order.lastIndexOf('quiet') + 1);
    expect(meanwhile.filter((who) => who === 'noise').length).toBeLessThanOrEqual(3 * QUIET);
  });

  it('sends to other receivers despite thousands of deliveries to one that refuses connections', async () => {
    await start();
    await noisy.stop();
    const webhook = await startNoise();
    await sendQuietly();
    expect(await count(webhook.id, `status in ('pending', 'retrying')`)).toBeGreaterThan(0);
  });

  it('attempts a hanging origin once at a time and without that limit when it responds again', async () => {
    await start({ WEBHOOK_TIMEOUT_MS: '1000' });
    const open = { now: 0, most: 0 };
    let isHanging = true;
    noisy.respond = (response) => {
      open.now += 1;
      open.most = Math.max(open.most, open.now);
      response.once('close', () => (open.now -= 1));
      if (!isHanging) setTimeout(() => response.end(), 20);
    };
    await startNoise();
    await eventually(() => expect(noisy.received.length).toBeGreaterThan(WAVE));
    const hasOneAtATime = async () => {
      open.most = open.now;
      const before = noisy.received.length;
      await eventually(() => expect(noisy.received.length).toBeGreaterThan(before + 2));
      // The receiver may get the next request before it notices that the last one was aborted.
      expect(open.most).toBeLessThanOrEqual(2);
    };
    await eventually(hasOneAtATime, { timeoutMs: 40_000 });
    isHanging = false;
    await eventually(() => expect(open.most).toBeGreaterThan(2));
    expect(open.most).toBeLessThanOrEqual(WAVE);
  });

  it('sends to a healthy webhook of an organization whose other webhook hangs', async () => {
    await start({ WEBHOOK_TIMEOUT_MS: '2000' });
    noisy.respond = hang;
    await createWebhook(app, noise, quiet.url);
    await startNoise();
    // An attempt that the machine delays for longer than the time limit is repeated.
    const countEvents = () => new Set(quiet.received.map(({ headers }) => headers['x-service-event-id'])).size;
    await eventually(() => expect(countEvents()).toBe(NOISE), { timeoutMs: 60_000 });
    const noiseBefore = noisy.received.length;
    await cluster.emit(noise);
    await eventually(() => expect(countEvents()).toBe(NOISE + 1), { everyMs: 5, timeoutMs: 60_000 });
    // In turn with the webhook that hangs, the event would wait for the two thousand before it.
    expect(noisy.received.length - noiseBefore).toBeLessThan(NOISE / 10);
  });

  it('sends to others while many organizations have deliveries for one origin that hangs', async () => {
    await start({ WEBHOOK_TIMEOUT_MS: '5000' });
    noisy.respond = hang;
    const dead = await Promise.all(Array.from({ length: 60 }, () => cluster.organization()));
    for (const organization of dead) await createWebhook(app, organization, noisy.url);
    await Promise.all(dead.flatMap((organization) => Array.from({ length: 60 }, () => cluster.emit(organization))));
    const noiseMeanwhile = await sendQuietly();
    expect(noiseMeanwhile).toBeLessThanOrEqual(210);
    expect(app.get(SenderService).listKnown('').length).toBe(0);
  });

  it('leaves what a webhook cannot send in the table and sends all of it later', async () => {
    await start({ WEBHOOK_TIMEOUT_MS: '1000' });
    noisy.respond = hang;
    const webhook = await startNoise();
    const inMemory = () => app.get(SenderService).listKnown(webhook.id).length;
    await eventually(() => expect(inMemory()).toBeLessThanOrEqual(5));
    // New deliveries are stored behind the others.
    const late = await cluster.emit(noise);
    await eventually(async () =>
      expect(await cluster.rows('select status from delivery where event_id = $1', [late])).toEqual([
        { status: 'pending' },
      ]),
    );
    await cluster.stop(app);
    noisy.respond = (response) => response.end();
    app = await cluster.start();
    await eventually(async () => expect(await count(webhook.id, `status = 'delivered'`)).toBe(NOISE + 1), {
      timeoutMs: 90_000,
    });
    const ids = noisy.received.map(({ headers }) => headers['x-service-delivery-id']);
    expect(new Set(ids).size).toBe(NOISE + 1);
  });
});
