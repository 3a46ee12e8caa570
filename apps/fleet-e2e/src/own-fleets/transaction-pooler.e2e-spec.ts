import pg from 'pg';
import { eventually, partnerWithMfa, signInAdmin, type ApiClient } from '@rmm/testing';
import { EventPublisher } from '../outages/event-publisher.js';
import { must } from '../steps.js';
import { BehavingReceiver } from '../webhooks/behaving-receiver.js';
import { eventsFor, WebhookTenants } from '../webhooks/webhook-tenants.js';
import { findProgram, OwnFleet } from './own-fleet.js';

jest.setTimeout(600_000);

/** Connections of each login from PgBouncer to PostgreSQL, as `./fleet up --pooler` sets them. */
const SERVER_CONNECTIONS = 2;
const PARTNERS = 4;
const ORGANIZATIONS = 12;
const EVENTS = 500;

/** `.ci/install-pgbouncer` unpacks it. */
const hasPgBouncer = findProgram('pgbouncer', 'PGBOUNCER_PATH', 'pgbouncer/usr/sbin/pgbouncer') !== undefined;

const NAME = 'a fleet behind PgBouncer in transaction mode';
const describeWithPgBouncer = hasPgBouncer ? describe : describe.skip;

describeWithPgBouncer(hasPgBouncer ? NAME : `${NAME} (skipped: PgBouncer is not installed)`, () => {
  let fleet: OwnFleet;
  const receiver = new BehavingReceiver();

  beforeAll(async () => {
    await receiver.start();
    fleet = await OwnFleet.start(['--pooler']);
  });
  afterAll(async () => {
    await receiver.stop();
    await fleet?.stop();
  });

  async function query<Row extends pg.QueryResultRow>(connectionString: string | undefined, sql: string) {
    const client = new pg.Client({ connectionString });
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }
  const transactions = async () => {
    const rows = await query<{ database: string; xact_count: string }>(fleet.handle.poolerUrl, 'SHOW STATS_TOTALS');
    return Number(rows.find(({ database }) => database === 'rmm_fleet')?.xact_count);
  };
  const namesOf = async (client: ApiClient): Promise<string[]> =>
    must(await client.get('/orgs/organizations?limit=100'), 200).data.map(({ name }: { name: string }) => name);

  it('keeps partners apart whose requests take turns on two sessions', async () => {
    const before = await transactions();
    const partners = await Promise.all(Array.from({ length: PARTNERS }, () => partnerWithMfa(fleet.handle)));
    const first = await Promise.all(partners.map(({ client }) => namesOf(client)));
    await Promise.all(
      partners.map(async ({ client, partnerId }, index) => {
        const own = (names: readonly string[]) => names.filter((name) => !first[index]?.includes(name));
        for (let i = 0; i < ORGANIZATIONS; i++) {
          const [created, ...lists] = await Promise.all([
            client.post('/orgs/organizations', { name: `${partnerId} ${i}` }),
            ...Array.from({ length: 4 }, () => namesOf(client)),
          ]);
          must(created, 201);
          for (const name of lists.flatMap(own)) expect(name.startsWith(partnerId)).toBe(true);
        }
        expect(own(await namesOf(client))).toHaveLength(ORGANIZATIONS);
      }),
    );
    expect((await transactions()) - before).toBeGreaterThan(PARTNERS * ORGANIZATIONS * 5);

    const admin = await signInAdmin(fleet.handle);
    const { total } = must(await admin.get('/orgs/organizations?limit=1'), 200).pagination;
    expect(total).toBeGreaterThanOrEqual(PARTNERS * ORGANIZATIONS);
    for (const [index, { client }] of partners.entries()) {
      expect((await namesOf(client)).length).toBe(ORGANIZATIONS + (first[index]?.length ?? 0));
    }
  });

  it('has few sessions, and others only for what needs one of its own', async () => {
    const sessions = await query<{ login: string; name: string; count: number }>(
      fleet.handle.databaseUrl,
      `SELECT usename AS login, CASE WHEN application_name ~ '-(leases|platform)$' THEN 'direct' ELSE 'pooled' END AS name,
              count(*)::int FROM pg_stat_activity WHERE usename LIKE 'rmm\\_%' GROUP BY 1, 2`,
    );
    const pooled = sessions.filter(({ name }) => name === 'pooled');
    expect(pooled.length).toBeGreaterThanOrEqual(8);
    for (const { login, count } of pooled) {
      expect([login, count <= SERVER_CONNECTIONS]).toEqual([login, true]);
    }
    expect(sessions).toContainEqual({ login: 'rmm_webhook_dispatcher_worker', name: 'direct', count: 1 });
  });

  it('loses no webhook delivery when PgBouncer is killed', async () => {
    const tenants = new WebhookTenants(fleet.handle);
    const partners = await Promise.all([tenants.addPartner(), tenants.addPartner()]);
    const owned = await Promise.all(
      partners.map((client, i) =>
        tenants.addOrganizations(client, [[receiver.url('ok', `ok${i}`), receiver.url('refuse once', `slow${i}`)]]),
      ),
    );
    const events = owned.map((organizations) => eventsFor(organizations, EVENTS));
    const published = Promise.all(events.map((own) => new EventPublisher(fleet.handle).publishAll(own)));
    await eventually(() => expect(receiver.acceptedBy('ok0').size).toBeGreaterThan(50), { timeoutMs: 60_000 });
    await fleet.signalStore('pgbouncer', 'SIGKILL');
    await published;
    for (const name of ['ok0', 'ok1', 'slow0', 'slow1']) {
      const expected = events[Number(name.at(-1))]?.map(({ id }) => id).sort();
      await eventually(() => expect([...receiver.acceptedBy(name)].sort()).toEqual(expected), { timeoutMs: 180_000 });
    }
    await eventually(
      async () => {
        for (const [index, client] of partners.entries()) {
          for (const id of owned[index]?.flatMap(({ webhookIds }) => webhookIds) ?? []) {
            const { deliveryStats } = must(await client.get(`/webhooks/${id}`), 200);
            expect(deliveryStats).toMatchObject({ delivered: EVENTS, pending: 0, retrying: 0, failed: 0 });
          }
        }
      },
      { timeoutMs: 180_000, everyMs: 500 },
    );
  });
});
