import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { WorkerDatabase } from '@rmm/persistence';
import { DispatcherTestCluster, type Organization } from '../../test/dispatcher-test-cluster.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { QueuesRepository } from './queues.repository.js';

/** The first and the last id in the order of the index. */
const [FIRST, LAST] = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff'];

describe('QueuesRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let repository: QueuesRepository;
  let organization: Organization;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start();
    repository = new QueuesRepository(app.get(WorkerDatabase));
    organization = await cluster.organization();
  });

  afterEach(() => cluster.rows('truncate delivery, dead_letter'));
  afterAll(() => cluster.close(), 30_000);

  /** Inserts deliveries of a webhook that is not in the index, so that nothing sends them. */
  const add = (webhookId: string, count: number, dueInSeconds: number, status = 'pending') =>
    cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at, status)
       select gen_random_uuid(), now() - n * interval '1 ms', $1, $2, $3, 'device.online', 'e', 6,
              now() + make_interval(secs => $5), $6
       from generate_series(1, $4) n`,
      [organization.partnerId, organization.orgId, webhookId, count, dueInSeconds, status],
    );

  it('counts nothing while no delivery is open', async () => {
    await add(FIRST, 2, -60, 'delivered');
    expect(await repository.countOpen()).toEqual({ due: 0, scheduled: 0, oldestDueSeconds: null });
  });

  it('counts the open deliveries of all webhooks, whatever keeps them back', async () => {
    await add(FIRST, 3, -10);
    await add(randomUUID(), 2, -120, 'retrying');
    await add(LAST, 4, 600, 'retrying');
    const { oldestDueSeconds, ...counts } = await repository.countOpen();
    expect(counts).toEqual({ due: 5, scheduled: 4 });
    expect(oldestDueSeconds).toBeGreaterThanOrEqual(120);
    expect(oldestDueSeconds).toBeLessThan(180);
  });

  it('finds what is due, and the oldest of it, behind more than 100,000 that are not', async () => {
    await add(FIRST, 100_050, 3_600, 'retrying');
    await add(LAST, 1, -500);
    await add(LAST, 2, -50);
    const { oldestDueSeconds, ...counts } = await repository.countOpen();
    expect(counts).toEqual({ due: 3, scheduled: 100_000 });
    expect(oldestDueSeconds).toBeGreaterThanOrEqual(500);
    expect(oldestDueSeconds).toBeLessThan(560);
  });

  it('lists each running replica with the partitions it owns', async () => {
    const { replicaId } = app.get(PartitionLeaseManagerService);
    expect(await repository.listReplicas()).toEqual([
      { id: replicaId, startedAt: expect.any(Date), heartbeatAt: expect.any(Date), partitions: 1_024 },
    ]);
  });

  it('counts dead letters of all tenants', async () => {
    await cluster.rows(
      `insert into dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
       select gen_random_uuid(), now(), now(), $1, $2, gen_random_uuid(), 'device.online', 'e', 6 from generate_series(1, 3)`,
      [organization.partnerId, organization.orgId],
    );
    expect(await repository.countDeadLetters()).toBe(3);
  });
});
