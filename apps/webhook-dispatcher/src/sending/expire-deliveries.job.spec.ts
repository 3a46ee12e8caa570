import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { type Logger, MetricsRegistry } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import type { DispatcherConfig } from '../config.js';
import type { DispatcherMetrics } from '../dispatcher.metrics.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';
import { ExpireDeliveriesJob } from './expire-deliveries.job.js';
import { ExpiredDeliveriesRepository } from './expired-deliveries.repository.js';
import { OutcomeBatcherService } from './outcome-batcher.service.js';
import { RetrySchedulerService } from './retry-scheduler.service.js';
import { SenderService } from './sender.service.js';

const RETENTION_DAYS = 30;

describe('ExpireDeliveriesJob', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start();
  }, 120_000);

  beforeEach(async () => {
    receiver = await FakeReceiver.start();
    organization = await cluster.organization();
  });

  afterEach(() => receiver.stop());
  afterAll(() => cluster.close(), 30_000);

  /** Creates a webhook whose organization is not active, so that its deliveries wait. */
  const createWaiting = async () => {
    const { id } = await createWebhook(app, organization, receiver.url);
    await cluster.setStatus(organization, 'organization', 'suspended');
    await app.get(SubscriptionIndexService).refreshTenants();
    return id;
  };
  const add = async (webhookId: string, ageDays: number, status = 'pending', attempt = 0) => {
    const [row] = await cluster.rows<{ id: string }>(
      `insert into delivery (id, created_at, due_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status, attempt)
       select $2::uuid, at, at, partner_id, org_id, id, 'device.online', $2::text, 6, $4, $5
       from webhook, (select date_trunc('milliseconds', now() - $3 * interval '1 day') as at) as time
       where id = $1 returning id`,
      [webhookId, randomUUID(), ageDays, status, attempt],
    );
    await cluster.rows(
      `insert into event_body (event_id, created_at, partner_id, org_id, body)
       select event_id, created_at, partner_id, org_id, '{}' from delivery where id = $1`,
      [row?.id],
    );
    await cluster.rows(
      `update webhook_counter set total = total + 1, retrying = retrying + ($2 = 'retrying')::int where webhook_id = $1`,
      [webhookId, status],
    );
    return row?.id ?? '';
  };
  const statsOf = async (webhookId: string) => {
    const { deliveryStats } = await app.get(WebhooksService).get(organizationCaller(organization), webhookId);
    return deliveryStats;
  };
  const metric = async (name: string, of = app) => {
    const text = await of.get(MetricsRegistry).registry.metrics();
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, 'm').exec(text)?.[1] ?? 0);
  };
  /** Maintains partitions as their owner does some days from now. */
  const maintain = async (inDays: number) => {
    const role = new URL(cluster.database.urls.webhook_dispatcher.owner).username;
    const client = await cluster.admin.connect();
    try {
      await client.query(`set role ${role}`);
      await client.query(`select rmm_maintain_partitions_at(now() + $1 * interval '1 day')`, [inDays]);
    } finally {
      await client.query('reset role');
      client.release();
    }
  };

  it('fails what is still open a day before the end of its retention, counts it and says so', async () => {
    const webhookId = await createWaiting();
    const expired = [await add(webhookId, 29.5), await add(webhookId, 31), await add(webhookId, 29.1, 'retrying', 2)];
    const kept = await add(webhookId, 28.9);
    const counted = await metric('rmm_webhook_deliveries_expired_total');
    const warnings: unknown[][] = [];
    const logger = { warn: (...args: unknown[]) => warnings.push(args) } as unknown as Logger;
    const job = new ExpireDeliveriesJob(
      app.get(ExpiredDeliveriesRepository),
      app.get(SenderService),
      app.get(OutcomeBatcherService),
      app.get(PartitionLeaseManagerService),
      logger,
      { deliveryRetentionDays: RETENTION_DAYS } as DispatcherConfig,
      { observeOldestOpen: () => undefined } as unknown as DispatcherMetrics,
    );
    await job.run();
    await job.run();
    const rows = new Map((await cluster.deliveries(webhookId)).map((row) => [row.id, row]));
    const message = 'Expired: not sent before the end of its retention';
    for (const id of expired) expect(rows.get(id)).toMatchObject({ status: 'failed', error_message: message });
    expect(rows.get(kept)).toMatchObject({ status: 'pending', attempt: 0 });
    expect(await statsOf(webhookId)).toEqual({
      total: 4,
      pending: 1,
      delivered: 0,
      failed: 3,
      retrying: 0,
      lastDeliveredAt: null,
    });
    expect(await cluster.rows('select from dead_letter where webhook_id = $1', [webhookId])).toEqual([]);
    expect(await metric('rmm_webhook_deliveries_expired_total')).toBe(counted + 3);
    expect(warnings).toEqual([[{ deliveries: 3, webhookIds: [webhookId] }, expect.stringContaining('retention')]]);
    expect(receiver.received).toEqual([]);
  });

  it('ends each delivery once when replicas run it at the same time', async () => {
    const webhookId = await createWaiting();
    for (let i = 0; i < 20; i += 1) await add(webhookId, 29.5);
    const other = await cluster.start();
    const counted = await metric('rmm_webhook_deliveries_expired_total');
    await eventually(async () => {
      await Promise.all([app, other].map((replica) => replica.get(ExpireDeliveriesJob).run()));
      expect(await statsOf(webhookId)).toMatchObject({ pending: 0 });
    });
    expect(await statsOf(webhookId)).toEqual({
      total: 20,
      pending: 0,
      delivered: 0,
      failed: 20,
      retrying: 0,
      lastDeliveredAt: null,
    });
    const ofOther = await metric('rmm_webhook_deliveries_expired_total', other);
    expect((await metric('rmm_webhook_deliveries_expired_total')) + ofOther).toBe(counted + 20);
    await cluster.stop(other);
    await eventually(() => expect(app.get(PartitionLeaseManagerService).count).toBe(1_024));
  });

  it('leaves a delivery alone whose attempt is in flight', async () => {
    const { id: webhookId } = await createWebhook(app, organization, receiver.url);
    let respond: () => void = () => undefined;
    receiver.respond = (response) => (respond = () => response.end());
    await add(webhookId, 29.5);
    app.get(RetrySchedulerService).notifyDue({ id: webhookId, ...organization });
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await app.get(ExpireDeliveriesJob).run();
    expect(await cluster.deliveries(webhookId)).toMatchObject([{ status: 'pending' }]);
    respond();
    await eventually(async () => expect(await cluster.deliveries(webhookId)).toMatchObject([{ status: 'delivered' }]));
  });

  it('keeps the partitions of open deliveries until these have failed', async () => {
    const webhookId = await createWaiting();
    await maintain(-RETENTION_DAYS);
    const ids = [await add(webhookId, RETENTION_DAYS), await add(webhookId, 100)];
    const stored = async () => (await cluster.deliveries(webhookId)).map(({ id }) => id).sort();
    await maintain(2);
    expect(await stored()).toEqual([...ids].sort());
    await app.get(ExpireDeliveriesJob).run();
    expect(await statsOf(webhookId)).toMatchObject({ pending: 0, failed: 2 });
    await maintain(2);
    expect(await stored()).toEqual([]);
  });

  it('deletes open rows whose webhook does not exist', async () => {
    const webhookId = await createWaiting();
    await add(webhookId, 29.5);
    await cluster.rows('delete from webhook_counter where webhook_id = $1', [webhookId]);
    await cluster.rows('delete from webhook where id = $1', [webhookId]);
    await app.get(ExpireDeliveriesJob).run();
    expect(await cluster.deliveries(webhookId)).toEqual([]);
  });

  it('measures the oldest open delivery, whatever it waits for', async () => {
    const webhookId = await createWaiting();
    await add(webhookId, 2);
    await add(webhookId, 20.25);
    await add(webhookId, 25, 'delivered');
    const job = app.get(ExpireDeliveriesJob);
    await job.run();
    await job.measure();
    const days = (await metric('rmm_webhook_oldest_open_seconds')) / 86_400;
    expect(days).toBeGreaterThanOrEqual(20.25);
    expect(await metric('rmm_webhook_expire_after_seconds')).toBe((RETENTION_DAYS - 1) * 86_400);
    await cluster.rows(`update delivery set status = 'delivered' where status in ('pending', 'retrying')`);
    await job.measure();
    expect(await metric('rmm_webhook_oldest_open_seconds')).toBe(0);
  });
});
