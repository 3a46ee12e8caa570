import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import { createWebhook, DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import { SenderService } from './sender.service.js';

const EVENTS = 60;

describe('the statements of the sender', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    receiver = await FakeReceiver.start();
    app = await cluster.start();
  });

  afterAll(async () => {
    await receiver.stop();
    await cluster.close();
  });

  /** Rows of deliveries that were read one after the other, and look-ups by an index. */
  const reads = async () => {
    const [row] = await cluster.rows<{ scanned: number; lookUps: number }>(
      `select sum(seq_tup_read)::int as scanned, sum(idx_scan)::int as "lookUps"
         from pg_stat_user_tables where relname like 'delivery\\_p2%'`,
    );
    return row ?? { scanned: 0, lookUps: 0 };
  };

  it('use indexes although they were planned while the partition was empty', async () => {
    const organization = await cluster.organization();
    // First attempts, retries and backlog: every way a delivery is written and claimed.
    receiver.respond = (response, { headers }) => {
      const isFirst = receiver.requestsOf(String(headers['x-service-delivery-id'])).length === 1;
      response.writeHead(isFirst ? 503 : 200).end();
    };
    const webhook = await createWebhook(app, organization, receiver.url);
    const before = await reads();
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: EVENTS }, () => cluster.emit(organization)));
      app.get(SenderService).dropRetries(webhook.id);
    }
    await eventually(
      async () => {
        // Not the history itself: our own look at it would be counted.
        const [row] = await cluster.rows('select delivered from webhook_counter where webhook_id = $1', [webhook.id]);
        expect(Number(row?.delivered)).toBe(3 * EVENTS);
      },
      { timeoutMs: 40_000, everyMs: 500 },
    );
    await eventually(async () => expect((await reads()).lookUps - before.lookUps).toBeGreaterThan(3 * EVENTS));
    expect((await reads()).scanned - before.scanned).toBe(0);
  });
});
