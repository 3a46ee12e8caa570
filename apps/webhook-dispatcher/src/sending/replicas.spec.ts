import { eventually } from '@rmm/testing-services';
import { createWebhook, DispatcherTestCluster, type Organization } from '../../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../../test/fake-receiver.js';
import { buildService, ServiceProcess } from '../../../test/service-process.js';

// Real processes on a busy machine: time is not what these specs are about.
jest.setTimeout(120_000);

const EVENTS = 200;
const PER_ORIGIN = 10;

/** Counts how many requests a receiver has open, and the most it ever had. */
function countOpen(receiver: FakeReceiver, responseMs: number): { most: number } {
  const open = { now: 0, most: 0 };
  receiver.respond = (response) => {
    open.now += 1;
    open.most = Math.max(open.most, open.now);
    response.once('close', () => (open.now -= 1));
    setTimeout(() => response.end(), responseMs);
  };
  return open;
}

describe('replicas', () => {
  let cluster: DispatcherTestCluster;
  let organization: Organization;
  let receivers: FakeReceiver[];
  let processes: ServiceProcess[];

  beforeAll(async () => {
    buildService();
    cluster = await DispatcherTestCluster.open({ logins: true });
  }, 240_000);

  beforeEach(async () => {
    receivers = await Promise.all(Array.from({ length: 6 }, () => FakeReceiver.start()));
    processes = [];
  });

  afterEach(async () => {
    await Promise.all(processes.map((service) => service.kill('SIGKILL')));
    await Promise.all(receivers.map((receiver) => receiver.stop()));
    await cluster.rows('update delivery_shard set owner = null');
    await cluster.rows('delete from dispatcher_instance');
  });
  afterAll(() => cluster.close(), 30_000);

  const start = async () => {
    const service = await ServiceProcess.start(cluster.env());
    processes.push(service);
    return service;
  };
  /** A webhook at each receiver, made before anything runs. */
  const subscribe = async () => {
    const app = await cluster.start();
    organization = await cluster.organization();
    const webhooks = await Promise.all(receivers.map(({ url }) => createWebhook(app, organization, url)));
    await cluster.stop(app);
    return webhooks;
  };
  const emit = () => Promise.all(Array.from({ length: EVENTS }, () => cluster.emit(organization)));
  const allDelivered = () =>
    eventually(
      async () => {
        const rows = await cluster.rows(
          'select status, count(*)::int as n from delivery where org_id = $1 group by status',
          [organization.orgId],
        );
        expect(rows).toEqual([{ status: 'delivered', n: EVENTS * receivers.length }]);
      },
      { timeoutMs: 60_000 },
    );
  const owners = async () =>
    (
      await cluster.rows<{ owner: string; n: number }>(
        'select owner, count(*)::int as n from delivery_shard where owner is not null group by owner',
      )
    ).map(({ owner }) => owner);
  const ids = ({ received }: FakeReceiver) => received.map(({ headers }) => String(headers['x-service-delivery-id']));

  it('send each delivery once and keep every limit while a replica starts and another stops', async () => {
    await subscribe();
    const open = receivers.map((receiver) => countOpen(receiver, 40));
    const [first] = await Promise.all([start(), start()]);
    await eventually(async () => expect(await owners()).toHaveLength(2), { timeoutMs: 20_000 });
    await emit();
    await eventually(() => expect(receivers.every(({ received }) => received.length > 10)).toBe(true));
    const third = start();
    await eventually(() => expect(receivers.every(({ received }) => received.length > 60)).toBe(true));
    await first?.kill('SIGTERM');
    processes = processes.filter((service) => service !== first);
    await third;
    await allDelivered();
    for (const receiver of receivers) {
      expect(receiver.received).toHaveLength(EVENTS);
      expect(new Set(ids(receiver)).size).toBe(EVENTS);
    }
    expect(Math.max(...open.map(({ most }) => most))).toBeLessThanOrEqual(PER_ORIGIN);
  });

  it('take over from a killed replica when its lease has expired and repeat only its deliveries in flight', async () => {
    await subscribe();
    const open = receivers.map((receiver) => countOpen(receiver, 40));
    const killed = await start();
    const [dead] = await eventually(async () => {
      const all = await owners();
      expect(all).toHaveLength(1);
      return all;
    });
    await start();
    await eventually(async () => expect(await owners()).toHaveLength(2), { timeoutMs: 20_000 });
    await emit();
    await eventually(() => expect(receivers.every(({ received }) => received.length > 20)).toBe(true));
    await killed.kill('SIGKILL');
    processes = processes.filter((service) => service !== killed);
    const owned = await cluster.rows<{ shard: number }>('select shard from delivery_shard where owner = $1', [dead]);
    expect(owned.length).toBeGreaterThan(0);
    const leased = new Set(
      (await cluster.rows<{ id: string }>('select id from delivery where lease_owner = $1', [dead])).map(
        ({ id }) => id,
      ),
    );
    await cluster.rows(`update dispatcher_instance set lease_until = now() - interval '1 second' where id = $1`, [
      dead,
    ]);
    await allDelivered();
    for (const receiver of receivers) {
      const received = ids(receiver);
      expect(new Set(received).size).toBe(EVENTS);
      const twice = received.filter((id, i) => received.indexOf(id) !== i);
      expect(new Set(twice).size).toBe(twice.length);
      for (const id of twice) expect(leased.has(id)).toBe(true);
    }
    expect(Math.max(...open.map(({ most }) => most))).toBeLessThanOrEqual(PER_ORIGIN);
  });
});
