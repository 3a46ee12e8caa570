import { connect, headers, type NatsConnection } from 'nats';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { natsOptions } from '@rmm/messaging';
import { eventually, type TcpProxy } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

const RECORDS = 30;
const VERSIONS = 4;
const OUTAGE_MS = 3_000;
const PATIENCE_MS = 60_000;

interface Version {
  id: string;
  nth: number;
  updatedAt: string;
}

/** Records that other services publish while a store of provisioning is down. */
describe('the consumer of records', () => {
  let testApp: ProvisioningTestApp;
  let postgres: TcpProxy[];
  let publisher: NatsConnection;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    postgres = [];
    testApp = await ProvisioningTestApp.start({}, async (url, stores) => {
      const proxy = await stores.gate(url);
      postgres.push(proxy);
      return proxy.url;
    });
    const options = natsOptions(testApp.nats.urlFor('records-publisher'), 'spec');
    publisher = await connect({ ...options, maxReconnectAttempts: -1, reconnectTimeWait: 200 });
    partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id as string;
  });
  afterAll(async () => {
    await publisher?.close();
    await testApp?.stop();
  });

  /** Versions of records in an order in which some arrive after newer ones. */
  function buildVersions(): Version[] {
    const now = Date.now();
    return Array.from({ length: RECORDS }, () => randomUUID()).flatMap((id, n) =>
      Array.from({ length: VERSIONS }, (_, k) => {
        const nth = (k + n) % VERSIONS;
        return { id, nth, updatedAt: new Date(now + nth * 1_000).toISOString() };
      }),
    );
  }

  /** Publishes as other services do: again with the same id until the stream has stored the message. */
  async function publish({ id, nth, updatedAt }: Version): Promise<void> {
    const messageId = randomUUID();
    const record = { name: `Version ${nth}`, enabled: true };
    const message = { schemaVersion: 1, messageId, resource: 'automations', id, partnerId, orgId, updatedAt, record };
    const sent = headers();
    sent.set('Nats-Msg-Id', messageId);
    const giveUpAt = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        await publisher
          .jetstream()
          .publish('rmm.records.automations.upsert', JSON.stringify(message), { headers: sent });
        return;
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await sleep(100);
      }
    }
  }

  /** Publishes the versions in turn while the outage goes on, and expects the newest of each record in the end. */
  async function expectNewestAfter(outage: () => Promise<void>): Promise<void> {
    const versions = buildVersions();
    const middle = versions.length / 2;
    for (const version of versions.slice(0, middle)) await publish(version);
    const published = (async () => {
      for (const version of versions.slice(middle)) {
        await publish(version);
        await sleep(10);
      }
    })();
    await outage();
    await published;
    const ids = [...new Set(versions.map(({ id }) => id))];
    await eventually(
      async () => {
        const { rows } = await testApp.admin.query<{ id: string; name: string }>(
          `SELECT id, record ->> 'name' AS name FROM export_record WHERE id = ANY ($1::uuid[]) AND deleted_at IS NULL`,
          [ids],
        );
        const newest = rows.filter(({ name }) => name === `Version ${VERSIONS - 1}`);
        expect([rows.length, newest.length]).toEqual([RECORDS, RECORDS]);
      },
      { timeoutMs: PATIENCE_MS, everyMs: 250 },
    );
    const { rows } = await testApp.admin.query<{ n: number }>('SELECT count(*)::int AS n FROM dead_letter_message');
    expect(rows).toEqual([{ n: 0 }]);
  }

  it('loses no record while PostgreSQL is down, and the newest version of each stays', async () => {
    await expectNewestAfter(async () => {
      for (const proxy of postgres) await proxy.shut();
      await sleep(OUTAGE_MS);
      for (const proxy of postgres) await proxy.open();
    });
  }, 120_000);

  it('loses no record while NATS is killed and started again, and the newest version of each stays', async () => {
    await expectNewestAfter(async () => {
      await testApp.nats.kill();
      await sleep(OUTAGE_MS);
      await testApp.nats.start();
    });
  }, 120_000);
});
