import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { type DatabaseSession, WorkerDatabase } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import { DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { PartitionLeaseManagerService } from './partition-lease-manager.service.js';
import { PartitionLeasesRepository } from './partition-leases.repository.js';

describe('PartitionLeasesRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let repository: PartitionLeasesRepository;
  let sessions: DatabaseSession[];

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    app = await cluster.start();
    await app.get(PartitionLeaseManagerService).abandon(); // the rows are those of the spec
    repository = new PartitionLeasesRepository(app.get(WorkerDatabase));
  });

  beforeEach(async () => {
    sessions = [];
    await cluster.rows('delete from dispatcher_replica');
    await cluster.rows('update delivery_partition set owner = null, epoch = 0');
  });
  afterEach(() => Promise.all(sessions.map((session) => session.close())));
  afterAll(() => cluster.close(), 30_000);

  const open = async () => {
    const session = await repository.openSession();
    sessions.push(session);
    return session;
  };
  /** Registers a replica with a session of its own, as a process does. */
  const join = async () => {
    const [session, id] = [await open(), randomUUID()];
    await repository.register(session, id);
    expect(await repository.lockSession(session, id)).toBe(true);
    return { session, id };
  };
  const ownedBy = async (id: string) =>
    (await repository.listOwners(await open())).filter(({ owner }) => owner === id).map(({ partition }) => partition);

  it('shows that the session of a replica has ended within a moment', async () => {
    const [observer, dying] = [await join(), await join()];
    const hasSession = async () =>
      (await repository.listReplicas(observer.session)).find(({ id }) => id === dying.id)?.hasSession;
    expect(await hasSession()).toBe(true);
    await dying.session.close();
    await eventually(async () => expect(await hasSession()).toBe(false), { timeoutMs: 2_000, everyMs: 20 });
  });

  it('refuses the lock of a replica whose earlier session still has it', async () => {
    const { id } = await join();
    expect(await repository.lockSession(await open(), id)).toBe(false);
  });

  it('renews the heartbeat of a registered replica and returns false to one that was removed', async () => {
    const { session, id } = await join();
    await cluster.rows(`update dispatcher_replica set heartbeat_at = now() - interval '1 minute'`);
    expect((await repository.listReplicas(session))[0]?.heartbeatAge).toBeGreaterThanOrEqual(60);
    expect(await repository.heartbeat(session, id)).toBe(true);
    expect((await repository.listReplicas(session))[0]?.heartbeatAge).toBeLessThan(30);
    await repository.remove(session, [id]);
    expect(await repository.heartbeat(session, id)).toBe(false);
  });

  it('gives replicas that claim at the same time different partitions, up to the limit of each', async () => {
    const replicas = await Promise.all([join(), join(), join()]);
    const claimed = await Promise.all(replicas.map(({ session, id }) => repository.claim(session, id, 400)));
    const owned = await Promise.all(replicas.map(({ id }) => ownedBy(id)));
    expect(owned.map(({ length }) => length)).toEqual(claimed);
    expect(new Set(owned.flat()).size).toBe(owned.flat().length);
    expect(claimed.every((count) => count <= 400)).toBe(true);
  });

  it('claims the partitions of a replica that is not registered, and of no other', async () => {
    const [running, gone] = [await join(), await join()];
    expect(await repository.claim(running.session, running.id, 10)).toBe(10);
    expect(await repository.claim(gone.session, gone.id, 1_024)).toBe(1_014);
    await cluster.rows('delete from dispatcher_replica where id = $1', [gone.id]);
    const next = await join();
    expect(await repository.claim(next.session, next.id, 1_024)).toBe(1_014);
    expect(await ownedBy(running.id)).toHaveLength(10);
  });

  it('changes the epoch with each owner, so that a former one is recognized', async () => {
    const [first, second] = [await join(), await join()];
    const epochs: (number | undefined)[] = [];
    const read = async () => {
      const owners = await repository.listOwners(first.session);
      epochs.push(owners.find(({ partition }) => partition === 0)?.epoch);
    };
    await read();
    await repository.claim(first.session, first.id, 1_024);
    await read();
    await repository.release(first.session, first.id, [0]);
    await repository.claim(second.session, second.id, 1);
    await read();
    await repository.remove(first.session, [second.id]);
    await read();
    expect(epochs).toEqual([...epochs].sort());
    expect(new Set(epochs).size).toBe(4);
  });

  it('releases no partition of another replica', async () => {
    const [first, second] = [await join(), await join()];
    await repository.claim(first.session, first.id, 5);
    const mine = await ownedBy(first.id);
    await repository.release(second.session, second.id, mine);
    expect(await ownedBy(first.id)).toEqual(mine);
    await repository.release(first.session, first.id, mine.slice(0, 2));
    expect(await ownedBy(first.id)).toEqual(mine.slice(2));
  });

  it('shows which replicas are leaving, and frees the partitions of one that unregisters', async () => {
    const [first, second] = [await join(), await join()];
    await repository.claim(first.session, first.id, 3);
    await repository.setLeaving(first.session, first.id);
    const isLeaving = Object.fromEntries(
      (await repository.listReplicas(second.session)).map((replica) => [replica.id, replica.isLeaving]),
    );
    expect(isLeaving).toEqual({ [first.id]: true, [second.id]: false });
    await repository.unregister(first.session, first.id);
    expect((await repository.listReplicas(second.session)).map(({ id }) => id)).toEqual([second.id]);
    expect(await ownedBy(first.id)).toEqual([]);
  });
});
