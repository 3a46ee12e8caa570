import type { ServerResponse } from 'node:http';
import { HealthRegistry, MetricsRegistry } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import { buildService, ServiceProcess } from '../../test/service-process.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { partitionOf } from '../replicas/partition-of.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';
import { OutcomeBatcherService } from './outcome-batcher.service.js';
import { SenderService } from './sender.service.js';

describe('recovery from failures', () => {
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let organization: Organization;

  beforeAll(async () => {
    buildService();
    cluster = await DispatcherTestCluster.open({ logins: true });
  }, 240_000);

  beforeEach(async () => {
    receiver = await FakeReceiver.start();
  });

  afterEach(() => receiver.stop());
  afterAll(() => cluster.close(), 30_000);

  const delivered = (webhookId: string, count: number) =>
    eventually(async () => {
      const rows = await cluster.deliveries(webhookId);
      expect(rows.map(({ status }) => status)).toEqual(Array<string>(count).fill('delivered'));
      return rows;
    });

  /** Creates an organization whose partition a replica owns. */
  const createOrganizationOf = async (manager: PartitionLeaseManagerService): Promise<Organization> => {
    for (;;) {
      const candidate = await cluster.organization();
      if (manager.owns(partitionOf(candidate.orgId))) return candidate;
    }
  };

  it('sends the deliveries in flight of a killed process again under the same ids', async () => {
    let app = await cluster.start();
    organization = await cluster.organization();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.stop(app);

    const killed = await ServiceProcess.start(cluster.env());
    receiver.respond = () => undefined;
    await cluster.emit(organization);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await killed.kill('SIGKILL');

    receiver.respond = (response) => response.end();
    app = await cluster.start();
    const [row] = await delivered(webhook.id, 1);
    expect(receiver.requestsOf(row?.id ?? '')).toHaveLength(2);
    await cluster.stop(app);
  });

  it('becomes ready under Node and exits with 0 on SIGTERM', async () => {
    const service = await ServiceProcess.start(cluster.env());
    expect(await service.kill('SIGTERM')).toBe(0);
  });

  it('sends and retries while Redis is unavailable', async () => {
    const app = await cluster.start();
    organization = await cluster.organization();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.stores.redis.stop();
    try {
      receiver.respond = (response) => response.writeHead(receiver.received.length === 1 ? 503 : 200).end();
      await cluster.emit(organization);
      const [row] = await delivered(webhook.id, 1);
      expect(row?.attempt).toBe(2);
      const accepted = await app.get(DeliveriesService).test(organizationCaller(organization), webhook.id, {});
      expect(accepted.delivery.status).toBe('pending');
      await delivered(webhook.id, 2);
    } finally {
      await cluster.stores.redis.start();
    }
    await cluster.stop(app);
  });

  it.each([
    ['stopped', 'SIGTERM'],
    ['was killed', 'SIGKILL'],
  ] as const)('keeps the pause that a receiver asked for after the owner %s', async (_, signal) => {
    let app = await cluster.start();
    organization = await cluster.organization();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.stop(app);

    const owner = await ServiceProcess.start(cluster.env());
    receiver.respond = (response) => response.writeHead(429, { 'retry-after': '60' }).end();
    await cluster.emit(organization);
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toMatchObject([{ status: 'retrying' }]));
    for (let i = 0; i < 5; i += 1) await cluster.emit(organization);
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toHaveLength(6));
    await owner.kill(signal);

    receiver.respond = (response) => response.end();
    app = await cluster.start();
    await cluster.emit(organization);
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toHaveLength(7));
    await eventually(() => expect(app.get(SenderService).waitingReason(webhook.id)).toBe('paused'));
    expect(receiver.received).toHaveLength(1);
    await cluster.stop(app);

    await cluster.rows('update webhook_counter set paused_until = now() where webhook_id = $1', [webhook.id]);
    await cluster.rows('update delivery set due_at = now() where webhook_id = $1', [webhook.id]);
    app = await cluster.start();
    await delivered(webhook.id, 7);
    expect(receiver.received).toHaveLength(8);
    await cluster.stop(app);
  });

  it('releases queued deliveries when it stops and completes those in flight', async () => {
    let app = await cluster.start({ WEBHOOK_CONCURRENCY: '1' });
    organization = await cluster.organization();
    const webhook = await createWebhook(app, organization, receiver.url);
    receiver.respond = (response) => void setTimeout(() => response.end(), 300);
    for (let i = 0; i < 5; i += 1) await cluster.emit(organization);
    await eventually(() => expect(receiver.received.length).toBeGreaterThan(0));
    await eventually(async () => expect(await cluster.deliveries(webhook.id)).toHaveLength(5));
    await cluster.stop(app);
    const rows = await cluster.deliveries(webhook.id);
    const begun = receiver.received.length;
    expect(rows.filter(({ status }) => status === 'delivered')).toHaveLength(begun);
    expect(begun).toBeLessThan(5);
    app = await cluster.start();
    await delivered(webhook.id, 5);
    expect(receiver.received).toHaveLength(5);
    await cluster.stop(app);
  });

  it('sends each delivery once with several replicas', async () => {
    const replicas = await Promise.all([cluster.start(), cluster.start()]);
    organization = await cluster.organization();
    const webhook = await createWebhook(replicas[0], organization, receiver.url);
    receiver.respond = (response, { headers }) =>
      response.writeHead(receiver.requestsOf(String(headers['x-service-delivery-id'])).length === 1 ? 500 : 200).end();
    await Promise.all(Array.from({ length: 40 }, () => cluster.emit(organization)));
    const rows = await delivered(webhook.id, 40);
    expect(rows.every(({ attempt }) => attempt === 2)).toBe(true);
    for (const { id } of rows) expect(receiver.requestsOf(id)).toHaveLength(2);
    const [counter] = await cluster.rows(
      'select total, delivered, retrying from webhook_counter where webhook_id = $1',
      [webhook.id],
    );
    expect(counter).toEqual({ total: '40', delivered: '40', retrying: '0' });
    await Promise.all(replicas.map((app) => cluster.stop(app)));
  });

  it('sends a new webhook its first event, whichever replica consumes it', async () => {
    const replicas = await Promise.all([cluster.start(), cluster.start()]);
    organization = await cluster.organization();
    for (let i = 0; i < 20; i += 1) {
      const webhook = await createWebhook(replicas[i % 2] as never, organization, receiver.url, {
        events: ['patch.*'],
      });
      await cluster.emit(organization, 'patch.failed');
      const [delivery] = await delivered(webhook.id, 1);
      expect(receiver.requestsOf(delivery?.id ?? '')).toHaveLength(1);
      await replicas[0].get(WebhooksService).delete(organizationCaller(organization), webhook.id);
    }
    await Promise.all(replicas.map((app) => cluster.stop(app)));
  });

  it('goes on without a restart after a failover to a read-only server and back', async () => {
    const app = await cluster.start();
    organization = await cluster.organization();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await delivered(webhook.id, 1);
    const { service, worker } = cluster.database.urls.webhook_dispatcher;
    const roles = [service, worker].map((url) => new URL(url).username);
    const setReadOnly = async (value: 'on' | 'off') => {
      const [database] = await cluster.rows<{ name: string }>('select current_database() as name');
      for (const role of roles) {
        await cluster.rows(
          `alter role ${role} in database ${database?.name} set default_transaction_read_only = ${value}`,
        );
      }
    };
    const isHealthy = () =>
      app
        .get(HealthRegistry)
        .checks.get('database')?.()
        .then(() => true)
        .catch(() => false);
    await setReadOnly('on');
    try {
      await cluster.rows(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = any($1)',
        [roles],
      );
      await eventually(async () => expect(await isHealthy()).toBe(false));
      await cluster.emit(organization);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    } finally {
      // Connections that were opened meanwhile stay read-only: they have to be dropped.
      await setReadOnly('off');
    }
    await delivered(webhook.id, 2);
    await eventually(async () => expect(await isHealthy()).toBe(true));
    await cluster.stop(app);
  });

  it('stores every outcome of attempts that end while no replica has a database, and keeps all leases', async () => {
    const gate = await cluster.stores.gate(cluster.database.urls.webhook_dispatcher.worker);
    const replicas = await Promise.all([1, 2].map(() => cluster.start({ WORKER_DATABASE_URL: gate.url })));
    const leases = replicas.map((replica) => replica.get(PartitionLeaseManagerService));
    await eventually(() => expect(leases.map(({ count }) => count)).toEqual([512, 512]));
    const webhookIds: string[] = [];
    const open: ServerResponse[] = [];
    receiver.respond = (response) => open.push(response);
    for (const manager of leases) {
      const owned = await createOrganizationOf(manager);
      webhookIds.push((await createWebhook(replicas[0], owned, receiver.url)).id);
      for (let i = 0; i < 3; i += 1) await cluster.emit(owned);
    }
    await eventually(() => expect(open).toHaveLength(6));
    for (const id of webhookIds) {
      await eventually(async () => expect(await cluster.deliveries(id)).toMatchObject(Array(3).fill({ attempt: 0 })));
    }
    const owners = () => cluster.rows('select partition, owner, epoch from delivery_partition order by partition');
    const before = await owners();

    await gate.shut();
    for (const response of open) response.end();
    await eventually(() =>
      expect(replicas.map((replica) => replica.get(OutcomeBatcherService).backlog)).toEqual([3, 3]),
    );
    await eventually(() => expect(leases.map(({ canSend }) => canSend)).toEqual([false, false]));
    // Heartbeats are as old as after an outage of a minute.
    await cluster.rows(`update dispatcher_replica set heartbeat_at = now() - interval '60 seconds'`);
    await gate.open();

    for (const webhookId of webhookIds) await delivered(webhookId, 3);
    await eventually(() => expect(leases.map(({ canSend }) => canSend)).toEqual([true, true]));
    expect(receiver.received).toHaveLength(6);
    expect(await owners()).toEqual(before);
    for (const replica of replicas) {
      const metrics = await replica.get(MetricsRegistry).registry.metrics();
      expect(metrics).toMatch(/^rmm_webhook_outcomes_discarded_total(\{.*\})? 0$/m);
    }
    await Promise.all(replicas.map((replica) => cluster.stop(replica)));
  });

  it('keeps outcomes while the database is unavailable and sends nothing twice', async () => {
    const gate = await cluster.stores.gate(cluster.database.urls.webhook_dispatcher.worker);
    const app = await cluster.start({ WORKER_DATABASE_URL: gate.url });
    organization = await cluster.organization();
    const webhook = await createWebhook(app, organization, receiver.url);
    let respondLate: () => void = () => undefined;
    receiver.respond = (response) => {
      respondLate = () => response.end();
    };
    await cluster.emit(organization);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await gate.shut();
    respondLate();
    await gate.open();
    await delivered(webhook.id, 1);
    expect(receiver.received).toHaveLength(1);
    await cluster.stop(app);
  });
});
