import type { INestApplication } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../../test/fake-receiver.js';
import { DeliveriesService } from '../../deliveries/deliveries.service.js';
import { WebhooksService } from '../../webhooks/webhooks.service.js';
import { InstanceLeaseService } from '../instance-lease.service.js';
import { SenderService } from '../sender.service.js';
import { preferredOwners } from './preferred-owners.js';
import { originOf, shardOf, SHARDS } from './shard-of.js';
import { ShardOwnershipService } from './shard-ownership.service.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

const ALL = Array.from({ length: SHARDS }, (_, shard) => shard);

describe('ShardOwnershipService', () => {
  let cluster: DispatcherTestCluster;
  let organization: Organization;
  let running: INestApplication[];
  let receivers: FakeReceiver[];

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    await cluster.stop(await cluster.start()); // makes the schema
  }, 60_000);

  beforeEach(async () => {
    organization = await cluster.organization();
    running = [];
    receivers = [];
  });

  afterEach(async () => {
    await Promise.all(receivers.map((receiver) => receiver.stop()));
    await Promise.all(running.map((app) => cluster.stop(app)));
  });
  afterAll(() => cluster.close(), 30_000);

  const start = async (changes: Record<string, string> = {}) => {
    const app = await cluster.start({ SHUTDOWN_GRACE_SECONDS: '1', ...changes });
    running.push(app);
    return app;
  };
  const stop = async (app: INestApplication) => {
    running = running.filter((other) => other !== app);
    await cluster.stop(app);
  };
  const receive = async () => {
    const receiver = await FakeReceiver.start();
    receivers.push(receiver);
    return receiver;
  };
  const owned = (app: INestApplication) => ALL.filter((shard) => app.get(ShardOwnershipService).owns(shard));
  const owner = (app: INestApplication) => app.get(InstanceLeaseService).owner;
  const shardAt = (receiver: FakeReceiver) => shardOf(originOf(receiver.url));
  const owners = async () =>
    (await cluster.rows<{ owner: string | null }>('select owner from delivery_shard order by shard')).map(
      (row) => row.owner,
    );
  /** Every shard has one owner, the preferred one, and that one knows. */
  const settled = (...apps: INestApplication[]) =>
    eventually(
      async () => {
        expect(apps.flatMap(owned).sort((a, b) => a - b)).toEqual(ALL);
        expect(await owners()).toEqual(preferredOwners(apps.map(owner)));
      },
      { timeoutMs: 20_000 },
    );
  const delivered = (webhookId: string, count = 1) =>
    eventually(
      async () => {
        const rows = await cluster.rows<{ status: string; shard: number }>(
          'select status, shard from delivery where webhook_id = $1',
          [webhookId],
        );
        expect(rows.map(({ status }) => status)).toEqual(Array<string>(count).fill('delivered'));
        return rows;
      },
      { timeoutMs: 20_000 },
    );

  it('acquires all shards when it is alone', async () => {
    const app = await start();
    expect(owned(app)).toEqual(ALL);
    expect(app.get(ShardOwnershipService).ownsAll).toBe(true);
  });

  it('distributes the shards again when replicas start and stop', async () => {
    const [a, b] = [await start(), await start()];
    await settled(a, b);
    const c = await start();
    await settled(a, b, c);
    await stop(a);
    await settled(b, c);
    await stop(b);
    await settled(c);
  });

  it('reaches a stable distribution when several replicas start at once', async () => {
    const apps = await Promise.all([start(), start(), start(), start()]);
    await settled(...apps);
  });

  it('keeps a shard until its last attempt has ended', async () => {
    const a = await start();
    const open = await Promise.all(Array.from({ length: 12 }, receive));
    const unanswered: ServerResponse[] = [];
    for (const receiver of open) receiver.respond = (response) => unanswered.push(response);
    const webhooks = await Promise.all(open.map(({ url }) => createWebhook(a, organization, url)));
    await cluster.emit(organization);
    await eventually(() => expect(unanswered).toHaveLength(open.length));
    const b = await start();
    // What is to move and has nothing under way has moved.
    const preferred = preferredOwners([owner(a), owner(b)]);
    const busy = new Set(open.map(shardAt));
    const moving = [...busy].filter((shard) => preferred[shard] === owner(b));
    expect(moving.length).toBeGreaterThan(0);
    await eventually(async () => {
      const now = await owners();
      for (const shard of ALL) if (!busy.has(shard)) expect([shard, now[shard]]).toEqual([shard, preferred[shard]]);
    });
    for (const shard of moving) expect((await owners())[shard]).toBe(owner(a));
    // The old owner begins nothing there any more, the new one nothing yet.
    await cluster.emit(organization);
    const staying = open.filter((receiver) => !moving.includes(shardAt(receiver)));
    await eventually(() => expect(staying.every(({ received }) => received.length === 2)).toBe(true));
    const moved = open.filter((receiver) => moving.includes(shardAt(receiver)));
    expect(moved.map(({ received }) => received.length)).toEqual(moved.map(() => 1));
    for (const receiver of open) receiver.respond = (response) => response.end();
    for (const response of unanswered) response.end();
    await settled(a, b);
    for (const { id } of webhooks) await delivered(id, 2);
    expect(open.map(({ received }) => received.length)).toEqual(open.map(() => 2));
  });

  it('acquires the shards of a killed replica when its lease has expired', async () => {
    const [a, b] = [await start(), await start()];
    await settled(a, b);
    const dead = owner(a);
    a.get(InstanceLeaseService).abandon();
    await cluster.rows(`update dispatcher_instance set lease_until = now() - interval '1 second' where id = $1`, [
      dead,
    ]);
    await b.get(InstanceLeaseService).renew();
    await eventually(() => expect(owned(b)).toEqual(ALL));
    expect(new Set(await owners())).toEqual(new Set([owner(b)]));
    // It comes back to itself and finds that it has lost everything.
    await a.get(InstanceLeaseService).renew();
    expect(owner(a)).not.toBe(dead);
    await settled(a, b);
  });

  it('never has two owners of a shard, whichever replica loses its lease at any time', async () => {
    const apps = await Promise.all([start(), start(), start()]);
    for (let round = 0; round < 5; round += 1) {
      await cluster.rows(`update dispatcher_instance set lease_until = now() - interval '1 second' where id = $1`, [
        owner(apps[round % 3]),
      ]);
      await Promise.all(apps.map((app) => app.get(InstanceLeaseService).renew()));
      const before = apps.map(owned);
      const now = await owners();
      // What was owned before the look and is still: the rest changed hands around it.
      for (const [i, app] of apps.entries()) {
        const kept = owned(app).filter((shard) => before[i]?.includes(shard));
        for (const shard of kept) expect([shard, now[shard]]).toEqual([shard, owner(app)]);
      }
      const all = apps.flatMap(owned);
      expect(new Set(all).size).toBe(all.length);
    }
    await settled(...apps);
  });

  it('sends deliveries of other replicas once, with retries and tests', async () => {
    const apps = [await start(), await start(), await start()];
    await settled(...apps);
    const all = await Promise.all(Array.from({ length: 6 }, receive));
    for (const receiver of all) {
      receiver.respond = (response, { headers }) =>
        response
          .writeHead(receiver.requestsOf(String(headers['x-service-delivery-id'])).length === 1 ? 500 : 200)
          .end();
    }
    const [first] = apps as [INestApplication];
    const webhooks = await Promise.all(all.map(({ url }) => createWebhook(first, organization, url)));
    await Promise.all(Array.from({ length: 20 }, () => cluster.emit(organization)));
    for (const app of apps) {
      for (const { id } of webhooks) await app.get(DeliveriesService).test(organizationCaller(organization), id, {});
    }
    for (const [i, { id }] of webhooks.entries()) {
      const rows = await delivered(id, 23);
      expect(all[i]?.received).toHaveLength(46);
      // The sender stored the shard of the origin, or it did not matter.
      expect(rows.filter(({ shard }) => shard === shardAt(all[i])).length).toBeGreaterThanOrEqual(20);
    }
  });

  it('sends deliveries of a webhook whose URL changed from the new owner', async () => {
    const apps = [await start(), await start()];
    await settled(...apps);
    const [here, there] = apps as [INestApplication, INestApplication];
    const all = await Promise.all(Array.from({ length: 12 }, receive));
    const from = all.find((receiver) => here.get(ShardOwnershipService).owns(shardAt(receiver)));
    const to = all.find((receiver) => there.get(ShardOwnershipService).owns(shardAt(receiver)));
    if (!from || !to) throw new Error('twelve ports in the shards of one process');
    from.respond = (response) => response.writeHead(503).end();
    const webhook = await createWebhook(here, organization, from.url);
    await cluster.emit(organization);
    await eventually(() => expect(from.received).toHaveLength(1));
    await here.get(WebhooksService).update(organizationCaller(organization), webhook.id, { url: to.url });
    const [row] = await delivered(webhook.id);
    expect([from.received.length, to.received.length]).toEqual([1, 1]);
    expect(row?.shard).toBe(shardAt(to));
  });

  it('frees shards later when the shutdown has cut attempts', async () => {
    const a = await start();
    const receiver = await receive();
    receiver.respond = () => undefined;
    await createWebhook(a, organization, receiver.url);
    await cluster.emit(organization);
    await eventually(() => expect(a.get(SenderService).countInFlight(shardAt(receiver))).toBe(1));
    await stop(a);
    const free = await cluster.rows<{ shard: number }>('select shard from delivery_shard where free_at > now()');
    expect(free).toEqual([{ shard: shardAt(receiver) }]);
    expect(new Set(await owners())).toEqual(new Set([null]));
  });
});
