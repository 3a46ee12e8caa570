import type { INestApplication } from '@nestjs/common';
import { DispatcherWorld } from '../../test/dispatcher.js';
import { InstanceLease, LEASE_SECONDS } from './instance-lease.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('InstanceLease', () => {
  let world: DispatcherWorld;
  let app: INestApplication;
  let lease: InstanceLease;

  beforeAll(async () => {
    world = await DispatcherWorld.open();
    app = await world.start({ WEBHOOK_TIMEOUT_MS: '10000' });
    lease = app.get(InstanceLease);
  }, 60_000);

  afterEach(() => jest.restoreAllMocks());
  afterAll(() => world.close(), 30_000);

  it('lets nothing begin that could outlive it', async () => {
    const startedMs = performance.now();
    await lease.renew();
    const clock = jest.spyOn(performance, 'now');
    clock.mockReturnValue(startedMs + LEASE_SECONDS * 1_000 - 10_001);
    expect(lease.mayBegin).toBe(true);
    // As after a night in which the machine slept.
    clock.mockReturnValue(startedMs + LEASE_SECONDS * 1_000 - 5_000);
    expect(lease.mayBegin).toBe(false);
    clock.mockRestore();
    await lease.renew();
    expect(lease.mayBegin).toBe(true);
  });

  it('goes on under a new identity when its row is gone', async () => {
    const before = lease.owner;
    await world.rows('delete from dispatcher_instance where id = $1', [before]);
    await lease.renew();
    expect(lease.owner).not.toBe(before);
    expect(lease.mayBegin).toBe(true);
    expect(await world.rows('select id from dispatcher_instance')).toEqual([{ id: lease.owner }]);
  });
});
