import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import { STREAMS } from '@rmm/contracts';
import { createOrganization, eventually, partnerWithMfa, type ApiClient } from '@rmm/testing';
import { createApiKey } from '../credentials/machines.js';
import { natsServerOf } from '../nats-server.js';
import { CountingReceivers } from '../outages/counting-receivers.js';
import { publishEvent } from '../outages/event-publisher.js';
import { createWebhook } from '../steps.js';
import { eventsFor } from '../webhooks/webhook-tenants.js';
import { OwnFleet } from './own-fleet.js';

jest.setTimeout(600_000);

const SERVERS = ['nats', 'nats-2', 'nats-3'] as const;
const WEBHOOKS = 2;
/** Pause between two events and between two requests, in milliseconds. */
const PAUSE_MS = 100;
/** Longer than the six seconds in which a client gives up a silent server. */
const HANG_MS = 9_000;

describe('a fleet on a NATS cluster of three servers', () => {
  const receivers = new CountingReceivers();
  let fleet: OwnFleet;
  let connection: NatsConnection;
  let streams: JetStreamManager;

  beforeAll(async () => {
    fleet = await OwnFleet.start(['--nats-cluster']);
    const options = { maxReconnectAttempts: -1, pingInterval: 1_000 };
    connection = await connect({ ...natsServerOf(fleet.handle), ...options });
    streams = await connection.jetstreamManager();
  });
  afterAll(async () => {
    await connection?.close();
    await receivers.stop();
    await fleet?.stop();
  });

  /** Returns the server that leads the stream of events once all three have all of its messages. */
  const findLeader = () =>
    eventually(
      async () => {
        const { cluster } = await streams.streams.info(STREAMS.events.name);
        expect(cluster?.replicas?.filter(({ current, offline }) => current && !offline)).toHaveLength(
          SERVERS.length - 1,
        );
        return SERVERS.find((name) => name === cluster?.leader) ?? SERVERS[0];
      },
      { timeoutMs: 180_000, everyMs: 500 },
    );

  it('keeps each stream on all servers', async () => {
    const found = await streams.streams.list().next();
    expect(found.map(({ config }) => [config.name, config.num_replicas]).sort()).toEqual(
      Object.values(STREAMS)
        .map(({ name }) => [name, SERVERS.length])
        .sort(),
    );
  });

  it('loses no event and no delivery while the leader of its streams hangs and is killed, three times', async () => {
    const { client } = await partnerWithMfa(fleet.handle);
    const { orgId } = await createOrganization(client);
    const key = await createApiKey(client, orgId);
    const events = ['alert.triggered', 'api_key.updated'];
    for (const url of await receivers.start(WEBHOOKS)) await createWebhook(client, orgId, { url, events });

    let isOver = false;
    const load = { events: 0, changes: 0 };
    const refused: number[] = [];
    const publishing = (async () => {
      for (; !isOver; load.events++) {
        const [event] = eventsFor([{ orgId, webhookIds: [] }], 1);
        if (event) await publishEvent(connection, event);
        await sleep(PAUSE_MS);
      }
    })();
    const changing = (async () => {
      for (let n = 0; !isOver; n++) {
        const { status } = await change(client, key.id, n);
        if (status === 200) load.changes += 1;
        else refused.push(status);
        await sleep(PAUSE_MS);
      }
    })();
    try {
      for (let round = 0; round < SERVERS.length; round++) {
        const leader = await findLeader();
        await fleet.signalStore(leader, 'SIGSTOP');
        await sleep(HANG_MS);
        await fleet.signalStore(leader, 'SIGKILL');
      }
      await findLeader();
    } finally {
      isOver = true;
      await Promise.all([publishing, changing]);
    }
    const deliveries = (load.events + load.changes) * WEBHOOKS;
    await eventually(() => expect(receivers.accepted.size).toBe(deliveries), { timeoutMs: 180_000 });
    const figures = { ...load, refused: refused.length, deliveries, doubled: receivers.doubled.length };
    process.stdout.write(`    ${JSON.stringify(figures)}\n`);
    // A change that asks another service may have to be repeated; nothing of it is stored then.
    expect(refused.filter((status) => status !== 503)).toEqual([]);
  });
});

/** Changes a key: the change is stored with its event, which is published later. */
const change = (client: ApiClient, id: string, n: number) => client.patch(`/api-keys/${id}`, { name: `Key ${n}` });
