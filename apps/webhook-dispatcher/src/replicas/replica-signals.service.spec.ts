import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Broadcasts, NatsLink } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import { DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { PartitionLeaseManagerService } from './partition-lease-manager.service.js';
import { ReplicaSignalsService } from './replica-signals.service.js';

describe('ReplicaSignalsService', () => {
  let cluster: DispatcherTestCluster;
  let apps: INestApplication[];

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    apps = await Promise.all([cluster.start(), cluster.start()]);
  });
  afterAll(() => cluster.close(), 30_000);

  /** A second signal service of each replica; the handlers count what they receive. */
  const connect = async () => {
    const due: string[][] = [[], []];
    const changed = [0, 0];
    const signals = apps.map((app, i) => {
      const service = new ReplicaSignalsService(app.get(Broadcasts), app.get(NatsLink));
      service.onDeliveriesDue((webhookId) => due[i]?.push(webhookId));
      service.onPartitionsChanged(() => (changed[i] = (changed[i] ?? 0) + 1));
      return service;
    });
    await Promise.all(apps.map((app) => app.get(NatsLink).connection.flush()));
    return { signals: signals as [ReplicaSignalsService, ReplicaSignalsService], due, changed };
  };

  it('sends the other replicas the webhook with due deliveries, and nothing to itself', async () => {
    const { signals, due } = await connect();
    signals[0].publishDeliveriesDue('from the first');
    signals[1].publishDeliveriesDue('from the second');
    await eventually(() => expect(due).toEqual([['from the second'], ['from the first']]));
  });

  it('sends the other replicas that partitions have changed', async () => {
    const { signals, changed } = await connect();
    // The replicas themselves may send signals too.
    const sentBy: string[] = [];
    apps[0]?.get(Broadcasts).subscribe('webhook.partitions', ({ data }) => sentBy.push(data.from));
    await apps[0]?.get(NatsLink).connection.flush();
    changed.fill(0);
    sentBy.length = 0;
    signals[0].publishPartitionsChanged();
    await eventually(() => expect(changed[1]).toBeGreaterThan(0));
    const own = signals[0]['from'];
    await eventually(() => expect(sentBy).toContain(own));
    expect(changed[0]).toBe(sentBy.filter((from) => from !== own).length);
  });

  it('knows which replicas receive events, and takes one for running when NATS is not connected', async () => {
    const [first, second] = apps.map((app) => app.get(ReplicaSignalsService));
    const id = apps[1]?.get(PartitionLeaseManagerService).replicaId ?? '';
    expect(await first?.isReceiving(id)).toBe(true);
    expect(await second?.isReceiving(id)).toBe(true);
    expect(await first?.isReceiving(randomUUID())).toBe(false);
    const closed = { request: () => Promise.reject(new Error('CONNECTION_CLOSED')) };
    const cutOff = new ReplicaSignalsService({} as Broadcasts, { connection: closed } as unknown as NatsLink);
    expect(await cutOff.isReceiving(id)).toBe(true);
  });
});
