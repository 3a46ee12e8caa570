import { eventually } from '@rmm/testing-services';
import { createWebhook, DispatcherTestCluster, type Organization } from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import { buildService, ServiceProcess } from '../../test/service-process.js';

// Real processes on a busy machine: time is not what these specs are about.
jest.setTimeout(120_000);

const EVENTS = 200;
const PER_WEBHOOK = 10;

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
  let organizations: Organization[];
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
    await cluster.rows('update delivery_partition set owner = null, epoch = epoch + 1');
    await cluster.rows('delete from dispatcher_replica');
  });
  afterAll(() => cluster.close(), 30_000);

  const start = async () => {
    const service = await ServiceProcess.start(cluster.env());
    processes.push(service);
    return service;
  };
  /** A webhook at each receiver, each of an organization of its own, made before anything runs. */
  const subscribe = async () => {
    const app = await cluster.start();
    organizations = await Promise.all(receivers.map(() => cluster.organization()));
    await Promise.all(receivers.map(({ url }, i) => createWebhook(app, organizations[i], url)));
    await cluster.stop(app);
  };
  const emit = () =>
    Promise.all(organizations.flatMap((one) => Array.from({ length: EVENTS }, () => cluster.emit(one))));
  const allDelivered = () =>
    eventually(
      async () => {
        const rows = await cluster.rows(
          'select status, count(*)::int as n from delivery where org_id = any($1) group by status',
          [organizations.map(({ orgId }) => orgId)],
        );
        expect(rows).toEqual([{ status: 'delivered', n: EVENTS * receivers.length }]);
      },
      { timeoutMs: 60_000 },
    );
  const owners = async () =>
    (
      await cluster.rows<{ owner: string; n: number }>(
        'select owner, count(*)::int as n from delivery_partition where owner is not null group by owner',
      )
    ).map(({ owner }) => owner);
  const ids = ({ received }: FakeReceiver) => received.map(({ headers }) => String(headers['x-service-delivery-id']));

  it('send each delivery once and keep every limit while a replica starts and another stops', async () => {
    await subscribe();
    const open = receivers.map((receiver) => countOpen(receiver, 40));
    const [first] = await Promise.all([start(), start()]);
    await eventually(async () => expect(await owners()).toHaveLength(2));
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
    expect(Math.max(...open.map(({ most }) => most))).toBeLessThanOrEqual(PER_WEBHOOK);
  });

  it('take over from a killed replica within seconds and repeat only its deliveries in flight', async () => {
    await subscribe();
    receivers.forEach((receiver) => countOpen(receiver, 40));
    const killed = await start();
    await start();
    await eventually(async () => expect(await owners()).toHaveLength(2));
    await emit();
    await eventually(() => expect(receivers.every(({ received }) => received.length > 20)).toBe(true));
    const ended = new Set(
      (await cluster.rows<{ id: string }>(`select id from delivery where status = 'delivered'`)).map(({ id }) => id),
    );
    const killedAt = performance.now();
    await killed.kill('SIGKILL');
    processes = processes.filter((service) => service !== killed);
    await eventually(async () => expect(await owners()).toHaveLength(1));
    expect(performance.now() - killedAt).toBeLessThan(10_000);
    await allDelivered();
    for (const receiver of receivers) {
      const received = ids(receiver);
      expect(new Set(received).size).toBe(EVENTS);
      const twice = received.filter((id, i) => received.indexOf(id) !== i);
      expect(new Set(twice).size).toBe(twice.length);
      for (const id of twice) expect(ended.has(id)).toBe(false);
    }
  });
});
