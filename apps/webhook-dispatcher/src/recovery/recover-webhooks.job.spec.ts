import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';
import { RecoverWebhooksJob } from './recover-webhooks.job.js';
import { RecoveryService } from './recovery.service.js';

const SINCE = () => ({ since: new Date(Date.now() - 3_600_000) });

describe('RecoverWebhooksJob', () => {
  let cluster: DispatcherTestCluster;
  let apps: INestApplication[];
  let receiver: FakeReceiver;
  let organization: Organization;
  let webhookId: string;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    apps = await Promise.all([cluster.start(), cluster.start()]);
  });

  beforeEach(async () => {
    receiver = await FakeReceiver.start();
    organization = await cluster.organization();
    ({ id: webhookId } = await createWebhook(apps[0], organization, receiver.url));
  });

  afterEach(() => receiver.stop());
  afterAll(() => cluster.close(), 30_000);

  /** Inserts failed deliveries with dead letters, a second apart. */
  const fail = (count: number) =>
    cluster.rows(
      `with failed as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
         select gen_random_uuid(), date_trunc('milliseconds', now()) - n * interval '1 s', $1, $2, $3, 'device.online',
                'e' || n, 6, 'failed'
         from generate_series(1, $4) n returning *
       ), bodies as (
         insert into event_body (event_id, created_at, partner_id, org_id, body)
         select event_id, created_at, partner_id, org_id, '{}' from failed
       )
       insert into dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
       select id, created_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, 6 from failed`,
      [organization.partnerId, organization.orgId, webhookId, count],
    );
  const recover = () => apps[0].get(RecoveryService).recover(organizationCaller(organization), webhookId, SINCE());
  /** Inserts a recovery of the last hour as a request does whose job was lost. */
  const accept = async () => {
    const id = randomUUID();
    await cluster.rows(
      `insert into webhook_recovery (id, webhook_id, partner_id, org_id, after_created_at, after_id, until_created_at, until_id)
       values ($1, $2, $3, $4, now() - interval '1 hour', $5, now(), $5)`,
      [id, webhookId, organization.partnerId, organization.orgId, '00000000-0000-0000-0000-000000000000'],
    );
    return id;
  };
  const pending = () => cluster.rows('select 1 from webhook_recovery where webhook_id = $1', [webhookId]);
  const letters = () => cluster.rows('select 1 from dead_letter where webhook_id = $1', [webhookId]);
  const sentEvents = () => receiver.received.map(({ headers }) => String(headers['x-service-event-id']));

  it('sends what a request has accepted, which does not wait for it', async () => {
    await fail(20);
    const client = await cluster.admin.connect();
    try {
      await client.query('begin; lock table delivery in share row exclusive mode');
      expect(await recover()).toEqual({ accepted: 20 });
      // What a job has yet to send is not accepted again.
      expect(await recover()).toEqual({ accepted: 0 });
      expect(receiver.received).toHaveLength(0);
    } finally {
      await client.query('rollback');
      client.release();
    }
    await eventually(() => expect(receiver.received).toHaveLength(20), { timeoutMs: 40_000 });
    expect(new Set(sentEvents()).size).toBe(20);
    expect(await letters()).toEqual([]);
    await eventually(async () => expect(await pending()).toEqual([]));
  });

  it('sends each event once when replicas run it and another one at the same time, and again afterwards', async () => {
    await fail(2_500);
    const ids = [await accept(), await accept()];
    const jobs = apps.map((app) => app.get(RecoverWebhooksJob));
    await Promise.all(jobs.flatMap((job) => [...ids.map((id) => job.start(id)), job.run()]));
    await eventually(async () => expect(await pending()).toEqual([]), { timeoutMs: 40_000 });
    await Promise.all(jobs.flatMap((job) => ids.map((id) => job.start(id))));
    const [row] = await cluster.rows(
      `select count(*)::int as deliveries, count(distinct event_id)::int as events from delivery
       where webhook_id = $1 and repeat_of is not null`,
      [webhookId],
    );
    expect(row).toEqual({ deliveries: 2_500, events: 2_500 });
    await apps[0].get(WebhooksService).delete(organizationCaller(organization), webhookId);
  });

  it('finds recoveries whose job Redis has lost', async () => {
    await fail(3);
    await accept();
    await apps[1].get(RecoverWebhooksJob).run();
    await eventually(() => expect(sentEvents().sort()).toEqual(['e1', 'e2', 'e3']));
    await eventually(async () => expect(await pending()).toEqual([]));
  });

  it('runs without Redis', async () => {
    await fail(2);
    await cluster.stores.redis.stop();
    try {
      expect(await recover()).toEqual({ accepted: 2 });
      await eventually(() => expect(receiver.received).toHaveLength(2));
    } finally {
      await cluster.stores.redis.start();
    }
  });

  it('ends without sending when the webhook is paused meanwhile', async () => {
    await fail(2);
    await cluster.rows(`update webhook set status = 'disabled' where id = $1`, [webhookId]);
    await apps[0].get(RecoverWebhooksJob).start(await accept());
    await eventually(async () => expect(await pending()).toEqual([]));
    expect(
      await cluster.rows('select 1 from delivery where webhook_id = $1 and repeat_of is not null', [webhookId]),
    ).toEqual([]);
    expect(await letters()).toHaveLength(2);
  });
});
