import { randomUUID } from 'node:crypto';
import { UnavailableError } from '@rmm/service-kit';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { NatsLink } from '../index.js';
import { LatestMessages } from './latest-messages.js';

describe('LatestMessages', () => {
  let testApp: MessagingTestApp;
  let link: NatsLink;
  let latest: LatestMessages;
  const crowded = randomUUID();
  const quiet = randomUUID();
  const alertsOf = (orgId: string) => `rmm.events.${orgId}.alert.>`;
  const textsOf = async (orgId: string, limit: number, before: number | null = null) =>
    (await latest.read(alertsOf(orgId), limit, before)).map(({ text }) => text);

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    link = new NatsLink({ url: testApp.nats.url, name: 'latest-messages' });
    await link.open();
    await testApp.startService();
    latest = new LatestMessages(link, 'RMM_EVENTS');
    const jetstream = testApp.connection.jetstream();
    const publish = (orgId: string, type: string, text: string) =>
      jetstream.publish(`rmm.events.${orgId}.${type}`, text);
    await publish(quiet, 'alert.triggered', 'quiet 0');
    // Enough that the search skips and returns: alerts in the midst of other events.
    for (let n = 0; n < 4_000; n += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          (n + at) % 10 === 0
            ? publish(crowded, (n + at) % 20 === 0 ? 'alert.triggered' : 'alert.resolved', `alert ${(n + at) / 10}`)
            : publish(crowded, 'device.online', 'no alert'),
        ),
      );
    }
    await publish(quiet, 'alert.resolved', 'quiet 1');
  }, 120_000);
  afterAll(async () => {
    await link.close();
    await testApp.stop();
  });

  it('returns the newest messages of a subject, newest first', async () => {
    const found = await latest.read(alertsOf(crowded), 5, null);
    const seqs = found.map(({ seq }) => seq);
    expect(found).toHaveLength(5);
    expect(seqs).toEqual([...seqs].sort((a, b) => b - a));
    expect(found.map(({ text }) => text).sort()).toEqual([
      'alert 395',
      'alert 396',
      'alert 397',
      'alert 398',
      'alert 399',
    ]);
    expect(found.every(({ subject }) => subject.startsWith(`rmm.events.${crowded}.alert.`))).toBe(true);
  });

  it('returns all when there are fewer, and none of another organization', async () => {
    expect(await textsOf(quiet, 5)).toEqual(['quiet 1', 'quiet 0']);
    expect(await textsOf(randomUUID(), 5)).toEqual([]);
  });

  it.each([1, 7, 100, 399])('returns all messages in pages of %d, each once', async (limit) => {
    const seen: string[] = [];
    let before: number | null = null;
    for (;;) {
      const page = await latest.read(alertsOf(crowded), limit, before);
      if (page.length === 0) break;
      seen.push(...page.map(({ text }) => text));
      before = page.at(-1)?.seq ?? null;
      if (limit === 1 && seen.length === 20) break; // a request for each is slow
    }
    expect(seen).toHaveLength(limit === 1 ? 20 : 400);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('returns nothing before the first message', async () => {
    const [, oldest] = await latest.read(alertsOf(quiet), 2, null);
    expect(await textsOf(quiet, 2, oldest?.seq)).toEqual([]);
  });

  it('throws UnavailableError when no server has the stream', async () => {
    const missing = new LatestMessages(link, 'RMM_NONE');
    await expect(missing.read(alertsOf(quiet), 2, null)).rejects.toThrow(UnavailableError);
  });
});
