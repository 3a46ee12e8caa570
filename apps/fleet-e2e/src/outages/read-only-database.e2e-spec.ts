import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectToFleet, eventually, readFleetStatus } from '@rmm/testing';
import { must } from '../steps.js';
import { BehavingReceiver } from '../webhooks/behaving-receiver.js';
import { eventsFor, WebhookTenants } from '../webhooks/webhook-tenants.js';
import { EventPublisher } from './event-publisher.js';
import { untilReady } from './killing.js';

jest.setTimeout(600_000);

const EVENTS = 4_000;
const READ_ONLY_MS = 6_000;

describe('a PostgreSQL that becomes read-only, as after a failover to a standby, and writable again', () => {
  const fleet = connectToFleet();
  const tenants = new WebhookTenants(fleet);
  const receiver = new BehavingReceiver();
  const admin = new pg.Client({
    connectionString: fleet.databaseUrl,
    options: '-c default_transaction_read_only=off',
  });

  beforeAll(async () => {
    await receiver.start();
    await admin.connect();
  });
  afterEach(() => setReadOnly(false));
  afterAll(async () => {
    await tenants.deleteWebhooks();
    await receiver.stop();
    await admin.end();
    await untilReady();
  });

  /** Changes the default of all transactions, also in open connections. */
  const setReadOnly = async (isOn: boolean) => {
    await admin.query(
      `ALTER SYSTEM ${isOn ? 'SET default_transaction_read_only = on' : 'RESET default_transaction_read_only'}`,
    );
    await admin.query('SELECT pg_reload_conf()');
  };
  const dispatcherPids = async () =>
    (await readFleetStatus()).services
      .find(({ name }) => name === 'webhook-dispatcher')
      ?.instances.map(({ pid }) => pid);

  it('loses no webhook delivery and needs no restart', async () => {
    const client = await tenants.addPartner();
    const urls = ['a', 'b', 'c'].map((name) => receiver.url(name === 'c' ? 'refuse once' : 'ok', name));
    const tenant = await tenants.addOrganizations(client, [urls]);
    const pids = await dispatcherPids();
    const events = eventsFor(tenant, EVENTS);
    const published = new EventPublisher(fleet).publishAll(events);
    await eventually(() => expect(receiver.acceptedBy('a').size).toBeGreaterThan(200));

    await setReadOnly(true);
    await sleep(READ_ONLY_MS);
    await setReadOnly(false);

    await published;
    for (const name of ['a', 'b', 'c']) {
      await eventually(() => expect(`${receiver.acceptedBy(name).size} arrived`).toBe(`${EVENTS} arrived`), {
        timeoutMs: 180_000,
        everyMs: 250,
      });
    }
    for (const id of tenant.flatMap(({ webhookIds }) => webhookIds)) {
      await eventually(
        async () => {
          const { deliveryStats } = must(await client.get(`/webhooks/${id}`), 200);
          expect(deliveryStats).toMatchObject({ delivered: EVENTS, pending: 0, retrying: 0, failed: 0 });
        },
        { timeoutMs: 180_000, everyMs: 500 },
      );
    }
    await untilReady();
    expect(await dispatcherPids()).toEqual(pids);
  });
});
