import { connect, type NatsConnection } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createOrganization, eventually, partnerWithMfa } from '@rmm/testing';
import { createApiKey } from '../credentials/machines.js';
import { natsServerOf } from '../nats-server.js';
import { CountingReceivers } from '../outages/counting-receivers.js';
import { publishEvent } from '../outages/event-publisher.js';
import { auditedNames, createWebhook, must, readAll } from '../steps.js';
import { eventsFor } from '../webhooks/webhook-tenants.js';
import { ChangeLoad } from './change-load.js';
import { OwnFleet } from './own-fleet.js';
import { PostgresProcesses } from './postgres-processes.js';

jest.setTimeout(600_000);

const WEBHOOKS = 2;
const KEYS = 3;
/** Successes of each client before the fault and after it. */
const SUCCESSES = 30;
const EVENT_PAUSE_MS = 100;
/** Time in milliseconds after which the outcome of an attempt is certainly written. */
const WRITTEN_AFTER_MS = 3_000;
const PATIENCE = { timeoutMs: 180_000, everyMs: 500 };

const FAULTS = {
  'is killed': (primary: PostgresProcesses) => Promise.resolve(primary.kill()),
  // The second refusal shows that no request waits for the connection of the first.
  hangs: (_primary: PostgresProcesses, clients: readonly ChangeLoad[]) =>
    eventually(() => {
      for (const { refused } of clients) expect(refused.size).toBeGreaterThanOrEqual(2);
    }, PATIENCE),
};

describe.each(Object.entries(FAULTS))('a fleet whose primary PostgreSQL %s', (fault, breakDown) => {
  const receivers = new CountingReceivers();
  let fleet: OwnFleet;
  let connection: NatsConnection;
  let primary: PostgresProcesses | undefined;

  beforeAll(async () => {
    fleet = await OwnFleet.start(['--postgres-standby', '--replicas', 'webhook-dispatcher=2']);
    connection = await connect({ ...natsServerOf(fleet.handle), maxReconnectAttempts: -1 });
  });
  afterAll(async () => {
    primary?.kill();
    await connection?.close();
    await receivers.stop();
    await fleet?.stop();
  });

  const suspendPrimary = async () => {
    const pid = fleet.handle.stores.find(({ name }) => name === 'postgres')?.pid;
    if (pid === undefined) throw new Error('The fleet has no postgres of its own');
    primary = await PostgresProcesses.suspend(fleet.handle.databaseUrl, pid);
    return primary;
  };
  /** Promotes the standby, which the address of the database leads to then. */
  const promoteStandby = async () => {
    const standby = new pg.Client({ connectionString: fleet.handle.standbyUrl });
    await standby.connect();
    const { rows } = await standby.query('SELECT pg_promote() AS promoted');
    await standby.end();
    expect(rows).toEqual([{ promoted: true }]);
  };

  it('loses no acknowledged change, event or delivery when its standby is promoted under load', async () => {
    const { client } = await partnerWithMfa(fleet.handle);
    const { orgId } = await createOrganization(client);
    const keys = await Promise.all(Array.from({ length: KEYS }, () => createApiKey(client, orgId)));
    const types = ['alert.triggered', 'api_key.updated'];
    for (const url of await receivers.start(WEBHOOKS)) await createWebhook(client, orgId, { url, events: types });

    const renaming = keys.map(
      ({ id }, index) => new ChangeLoad(`Key ${index + 1}`, 200, (name) => client.patch(`/api-keys/${id}`, { name })),
    );
    const creating = new ChangeLoad('Customer', 201, (name) => client.post('/orgs/organizations', { name }));
    const clients = [...renaming, creating];
    const successes = () => Promise.all(clients.map((each) => each.untilSuccesses(SUCCESSES)));
    let isOver = false;
    let events = 0;
    const publishing = (async () => {
      for (; !isOver; events++) {
        for (const event of eventsFor([{ orgId, webhookIds: [] }], 1)) await publishEvent(connection, event);
        await sleep(EVENT_PAUSE_MS);
      }
    })();
    let faultAt: number;
    let promotedAt: number;
    let readyAt: number;
    try {
      await successes();
      const suspended = await suspendPrimary();
      faultAt = performance.now();
      await breakDown(suspended, clients);
      await promoteStandby();
      promotedAt = performance.now();
      suspended.resume(); // what it still does reaches no client
      await eventually(async () => expect((await fleet.status()).state).toBe('ready'), PATIENCE);
      readyAt = performance.now();
      await successes();
    } finally {
      isOver = true;
      await Promise.all([publishing, ...clients.map((each) => each.stop())]);
    }

    const acknowledged = clients.flatMap((each) => each.acknowledged);
    const refused = new Map(clients.flatMap((each) => [...each.refused]));
    // A refused change may have been stored: the connection ended after the commit. Then it has an audit entry and an event.
    const { stored, customers } = await eventually(async () => {
      const updated = await auditedNames(client, 'api_key.update');
      const created = (await auditedNames(client, 'organization.create')).filter((name) =>
        name.startsWith('Customer '),
      );
      expect(receivers.accepted.size).toBe((events + updated.length) * WEBHOOKS);
      expect([...updated, ...created]).toEqual(expect.arrayContaining(acknowledged));
      return { stored: [...updated, ...created], customers: created };
    }, PATIENCE);
    const storedAlthoughRefused = stored.filter((name) => refused.has(name));
    const figures = {
      fault,
      acknowledged: acknowledged.length,
      refused: refused.size,
      storedAlthoughRefused: storedAlthoughRefused.length,
      events,
      deliveries: receivers.accepted.size,
      doubled: receivers.doubled.length,
      msUntilPromoted: Math.round(promotedAt - faultAt),
      longestMsWithoutSuccess: Math.round(Math.max(...clients.map(({ longest }) => longest.gapMs))),
      longestMsUntilResponse: Math.round(Math.max(...clients.map(({ longest }) => longest.responseMs))),
    };
    process.stdout.write(`    ${JSON.stringify(figures)}\n`);

    expect([...stored].sort()).toEqual([...acknowledged, ...storedAlthoughRefused].sort());
    expect([...refused].filter(([, status]) => status !== 503 && status !== 'connection')).toEqual([]);
    const names = await Promise.all(keys.map(async ({ id }) => must(await client.get(`/api-keys/${id}`), 200).name));
    expect(names).toEqual(renaming.map((each) => each.names.findLast((name) => stored.includes(name))));
    const organizations = await readAll<{ name: string }>(client, '/orgs/organizations?limit=100');
    const listed = organizations.map(({ name }) => name);
    expect(listed.filter((name) => name.startsWith('Customer ')).sort()).toEqual([...customers].sort());
    const outsideOfFault = receivers.doubled.filter(
      ({ firstAt }) => firstAt < faultAt - WRITTEN_AFTER_MS || firstAt > readyAt,
    );
    expect(outsideOfFault).toEqual([]);
    expect(pidsOf(await fleet.status())).toEqual(pidsOf(fleet.handle));
  });
});

const pidsOf = ({ services }: OwnFleet['handle']) =>
  services.map(({ name, instances }) => [name, ...instances.map(({ pid }) => pid)]);
