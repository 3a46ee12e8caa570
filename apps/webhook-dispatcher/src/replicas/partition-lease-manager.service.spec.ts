import type { INestApplication } from '@nestjs/common';
import { type DatabaseSession, WorkerDatabase } from '@rmm/persistence';
import type { Logger } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { PartitionLeaseManagerService } from './partition-lease-manager.service.js';
import { PartitionLeasesRepository, type ReplicaState } from './partition-leases.repository.js';
import type { ReplicaSignalsService } from './replica-signals.service.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(120_000);

describe('PartitionLeaseManagerService', () => {
  let cluster: DispatcherTestCluster;
  let apps: INestApplication[];

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
  });
  beforeEach(() => (apps = []));
  afterEach(async () => {
    for (const app of apps) await cluster.stop(app);
  });
  afterAll(() => cluster.close(), 30_000);

  const start = async (changes: Record<string, string> = {}) => {
    const app = await cluster.start(changes);
    apps.push(app);
    return app.get(PartitionLeaseManagerService);
  };
  const stop = async (index: number) => {
    const [app] = apps.splice(index, 1);
    if (app) await cluster.stop(app);
  };
  /** Returns how many partitions each replica owns; fails when one has no owner. */
  const shares = async () => {
    const rows = await cluster.rows<{ owner: string | null; n: number }>(
      'select owner, count(*)::int as n from delivery_partition group by owner order by n',
    );
    expect(rows.every(({ owner }) => owner !== null)).toBe(true);
    return rows.map(({ n }) => n);
  };

  it('owns everything alone, shares evenly with others and takes back what they leave', async () => {
    const first = await start();
    expect(first.count).toBe(1_024);
    const second = await start();
    await start();
    await eventually(async () => expect(await shares()).toEqual([340, 342, 342]));
    expect(first.ownerOf(0)).toBe(second.ownerOf(0));
    await stop(1);
    await eventually(async () => expect(await shares()).toEqual([512, 512]));
    await stop(1);
    await eventually(() => expect(first.count).toBe(1_024));
  });

  it('takes over from a replica whose session has ended', async () => {
    const first = await start();
    const second = await start();
    const ended: string[] = [];
    first.onReplicaEnded((id) => ended.push(id));
    await eventually(() => expect([first.count, second.count]).toEqual([512, 512]));
    await new Promise((resolve) => setTimeout(resolve, 5_000)); // a replica that has just connected declares none dead
    expect(ended).toEqual([]);
    const diedAt = performance.now();
    await second.abandon();
    await eventually(() => expect(first.count).toBe(1_024));
    expect(ended).toEqual([second.replicaId]);
    expect(performance.now() - diedAt).toBeLessThan(8_000);
  });

  it('leaves after a heartbeat in progress, which would register it again', async () => {
    const manager = await start();
    const repository = apps[0].get(PartitionLeasesRepository);
    const heartbeat = repository.heartbeat.bind(repository);
    const steps: string[] = [];
    let goOn: () => void = () => undefined;
    const sent = jest.spyOn(repository, 'heartbeat').mockImplementationOnce(async (...args) => {
      await new Promise<void>((resolve) => (goOn = resolve));
      const isRegistered = await heartbeat(...args);
      steps.push(isRegistered ? 'heartbeat' : 'registered again');
      return isRegistered;
    });
    const unregister = repository.unregister.bind(repository);
    jest.spyOn(repository, 'unregister').mockImplementation(async (...args) => {
      await unregister(...args);
      steps.push('left');
    });
    await eventually(() => expect(sent).toHaveBeenCalled());
    const stopped = manager.stop();
    setTimeout(goOn, 100);
    await stopped;
    expect(steps).toEqual(['heartbeat', 'left']);
    expect(await cluster.rows('select id from dispatcher_replica')).toEqual([]);
  });

  it('renews its leases while bulk statements use every connection of the pool', async () => {
    const only = await start({ WORKER_DB_POOL_MAX: '2' });
    const [app] = apps;
    const bulk = Array.from({ length: 4 }, () => app?.get(WorkerDatabase).query('SELECT pg_sleep(3)'));
    const heartbeats = new Set<number>();
    for (const endMs = performance.now() + 5_000; performance.now() < endMs;) {
      const [row] = await cluster.rows<{ at: Date }>('select heartbeat_at as at from dispatcher_replica');
      heartbeats.add(Number(row?.at));
      expect(only.canSend).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(heartbeats.size).toBeGreaterThanOrEqual(3);
    await Promise.all(bulk);
  });

  it('keeps all partitions of all replicas after an outage of the database', async () => {
    const gate = await cluster.stores.gate(cluster.database.urls.webhook_dispatcher.worker);
    const [first, second] = [
      await start({ WORKER_DATABASE_URL: gate.url }),
      await start({ WORKER_DATABASE_URL: gate.url }),
    ];
    await eventually(() => expect([first.count, second.count]).toEqual([512, 512]));
    const before = await cluster.rows('select partition, owner, epoch from delivery_partition order by partition');
    await gate.shut();
    await eventually(() => expect([first.canSend, second.canSend]).toEqual([false, false]));
    // Heartbeats are as old as after a long outage.
    await cluster.rows(`update dispatcher_replica set heartbeat_at = now() - interval '60 seconds'`);
    await gate.open();
    await eventually(() => expect([first.canSend, second.canSend]).toEqual([true, true]));
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    expect(await cluster.rows('select partition, owner, epoch from delivery_partition order by partition')).toEqual(
      before,
    );
  });

  it('claims its partitions again, with new epochs, when it was declared dead', async () => {
    const only = await start();
    await cluster.rows('delete from dispatcher_replica');
    await cluster.rows('update delivery_partition set owner = null, epoch = epoch + 1');
    const epoch = only.epochOf(0);
    await eventually(() => {
      expect(only.count).toBe(1_024);
      expect(only.epochOf(0)).toBe(epoch + 2);
    });
  });
});

describe('PartitionLeaseManagerService, which looks for replicas that died', () => {
  const OTHER = 'another replica';
  let now: number;
  let other: ReplicaState;
  let isReceiving: boolean;
  let asked: string[];
  let removed: string[];
  let isDatabaseDown: boolean;
  let manager: PartitionLeaseManagerService;

  beforeEach(async () => {
    [now, isReceiving, asked, removed, isDatabaseDown] = [100_000, false, [], [], false];
    other = { id: OTHER, isLeaving: false, hasSession: true, heartbeatAge: 0 };
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const nothing = () => Promise.resolve();
    const repository = {
      openSession: () => Promise.resolve({ isLost: false, close: nothing } as unknown as DatabaseSession),
      register: nothing,
      heartbeat: () => (isDatabaseDown ? Promise.reject(new Error('connection lost')) : Promise.resolve(true)),
      lockSession: () => Promise.resolve(true),
      listReplicas: () => Promise.resolve(removed.includes(OTHER) ? [] : [{ ...other }]),
      listOwners: () => Promise.resolve([]),
      claim: () => Promise.resolve(0),
      remove: (_: unknown, ids: string[]) => Promise.resolve(void removed.push(...ids)),
      unregister: nothing,
    } as unknown as PartitionLeasesRepository;
    const signals = {
      onPartitionsChanged: () => undefined,
      publishPartitionsChanged: () => undefined,
      isReceiving: (id: string) => (asked.push(id), Promise.resolve(isReceiving)),
    } as unknown as ReplicaSignalsService;
    manager = new PartitionLeaseManagerService(repository, signals, { warn: () => undefined } as unknown as Logger);
    await look();
    now += 6_000; // longer than others have to reconnect
  });
  afterEach(() => jest.restoreAllMocks());

  const look = (): Promise<void> => manager['tick']();
  const lookAfter = async (ms: number) => {
    now += ms;
    await look();
    return removed;
  };

  it('removes one without a session at the second look when NATS does not reach it either', async () => {
    other.hasSession = false;
    expect(await lookAfter(0)).toEqual([]);
    expect(asked).toEqual([]);
    expect(await lookAfter(250)).toEqual([OTHER]);
  });

  it('gives one that still receives events two seconds to connect to the database again', async () => {
    [other.hasSession, isReceiving] = [false, true];
    await lookAfter(0);
    expect(await lookAfter(1_999)).toEqual([]);
    expect(asked).toEqual([OTHER]);
    expect(await lookAfter(1)).toEqual([OTHER]);
  });

  it('keeps one that is connected to the database again, and asks NATS nothing', async () => {
    other.hasSession = false;
    await lookAfter(0);
    other.hasSession = true;
    expect(await lookAfter(3_000)).toEqual([]);
    other.hasSession = false;
    expect(await lookAfter(3_000)).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('gives one that has just registered two seconds to open its session', async () => {
    removed = [OTHER];
    await lookAfter(0);
    [removed, other.hasSession] = [[], false];
    await lookAfter(0);
    expect(await lookAfter(1_999)).toEqual([]);
    expect(asked).toEqual([]);
    expect(await lookAfter(1)).toEqual([OTHER]);
  });

  it('removes one that is silent although its session exists', async () => {
    other.heartbeatAge = 15.1;
    expect(await lookAfter(0)).toEqual([OTHER]);
  });

  it('looks more often while a session is missing', async () => {
    expect(manager['pauseMs']()).toBe(1_000);
    other.hasSession = false;
    await lookAfter(0);
    expect(manager['pauseMs']()).toBe(250);
    await lookAfter(250);
    expect(manager['pauseMs']()).toBe(1_000);
  });

  it.each([
    ['answers', false],
    ['is down', true],
  ])('looks at most four times a second at the request of others while the database %s', async (_, isDown) => {
    const wake = jest.fn();
    manager['wake'] = wake;
    isDatabaseDown = isDown;
    await look().catch(() => undefined);
    now += 249;
    manager.lookForDead();
    expect(wake).not.toHaveBeenCalled();
    now += 1;
    manager.lookForDead();
    expect(wake).toHaveBeenCalledTimes(1);
  });
});
