import type { INestApplication } from '@nestjs/common';
import { DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { InstanceLeaseService, LEASE_SECONDS } from './instance-lease.service.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('InstanceLeaseService', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let lease: InstanceLeaseService;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start({ WEBHOOK_TIMEOUT_MS: '10000' });
    lease = app.get(InstanceLeaseService);
  }, 60_000);

  afterEach(() => jest.restoreAllMocks());
  afterAll(() => cluster.close(), 30_000);

  it('starts no attempt that could outlive the lease', async () => {
    const startedMs = performance.now();
    await lease.renew();
    const clock = jest.spyOn(performance, 'now');
    clock.mockReturnValue(startedMs + LEASE_SECONDS * 1_000 - 10_001);
    expect(lease.canStartAttempt).toBe(true);
    // As after a night in which the machine slept.
    clock.mockReturnValue(startedMs + LEASE_SECONDS * 1_000 - 5_000);
    expect(lease.canStartAttempt).toBe(false);
    clock.mockRestore();
    await lease.renew();
    expect(lease.canStartAttempt).toBe(true);
  });

  it('continues under a new identity when its row was deleted', async () => {
    const before = lease.owner;
    await cluster.rows('delete from dispatcher_instance where id = $1', [before]);
    await lease.renew();
    expect(lease.owner).not.toBe(before);
    expect(lease.canStartAttempt).toBe(true);
    expect(await cluster.rows('select id from dispatcher_instance')).toEqual([{ id: lease.owner }]);
  });
});
