import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { HealthRegistry, type Logger, RedisConnections } from '@rmm/service-kit';
import { eventually, startStores, type Stores } from '@rmm/testing-services';
import { type BackgroundJobHandler, BackgroundJobsService } from './background-jobs.service.js';
import { QUEUE_PREFIX } from './background-queue.config.js';

const logger = { warn: jest.fn(), info: jest.fn(), error: jest.fn() } as unknown as Logger;
const NOTHING = { waiting: 0, delayed: 0, active: 0, failed: 0 };

describe('BackgroundJobsService', () => {
  let stores: Stores;
  let redis: RedisConnections;
  let started: BackgroundJobsService[];

  beforeAll(async () => {
    stores = await startStores();
  });

  beforeEach(() => {
    started = [];
    redis = new RedisConnections({ redisUrl: stores.redisUrl, redisClusterNodes: [] }, new HealthRegistry(), logger);
  });

  afterEach(async () => {
    await Promise.all(started.map((jobs) => jobs.stop()));
    await redis.onApplicationShutdown();
  });
  afterAll(() => stores.stop(), 30_000);

  const start = (handle: BackgroundJobHandler, more?: BackgroundJobHandler): BackgroundJobsService => {
    const jobs = new BackgroundJobsService(redis, logger);
    jobs.register('purge-webhook', handle);
    if (more) jobs.register('recover-webhook', more);
    jobs.start();
    started.push(jobs);
    return jobs;
  };
  const idle = (jobs: BackgroundJobsService) => eventually(async () => expect(await jobs.countJobs()).toEqual(NOTHING));

  it('runs a job once although several replicas add it while it waits', async () => {
    const handled: string[] = [];
    const handle = async (key: string) => {
      handled.push(key);
      await new Promise((resolve) => setTimeout(resolve, 500));
    };
    const [first, second] = [start(handle), start(handle)];
    const added = await Promise.all([first, second, first].map((jobs) => jobs.add('purge-webhook', 'a')));
    expect(added).toEqual([true, true, true]);
    await eventually(() => expect(handled).toEqual(['a']));
    await idle(first);
    expect(handled).toEqual(['a']);
  });

  it('adds a job again of which work is left, and one that failed when it is added again', async () => {
    const handled: string[] = [];
    const jobs = start((key) => {
      handled.push(key);
      if (key === 'fails' && handled.length === 1) throw new Error('once');
      return Promise.resolve(key === 'long' && handled.filter((one) => one === 'long').length < 3);
    });
    await jobs.add('purge-webhook', 'fails');
    await eventually(() => expect(handled).toEqual(['fails']));
    await idle(jobs);
    await jobs.add('purge-webhook', 'fails');
    await eventually(() => expect(handled).toEqual(['fails', 'fails']));
    await jobs.add('purge-webhook', 'long');
    await eventually(() => expect(handled.slice(2)).toEqual(['long', 'long', 'long']));
  });

  it('runs a recovery before the purges that wait', async () => {
    const order: string[] = [];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const purge = async (key: string) => {
      order.push(key);
      await released;
    };
    const jobs = start(purge, (key) => Promise.resolve(void order.push(key)));
    for (const key of ['p1', 'p2', 'p3', 'p4']) await jobs.add('purge-webhook', key);
    await eventually(() => expect(order).toEqual(['p1', 'p2']));
    await jobs.add('recover-webhook', 'r1');
    release();
    await eventually(() => expect(order).toHaveLength(5));
    expect(order.indexOf('r1')).toBe(2);
  });

  it('keeps nothing in Redis of jobs that ended or failed', async () => {
    const jobs = start((key) => (key === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve()));
    const keys = Array.from({ length: 20 }, () => randomUUID());
    for (const key of [...keys, 'bad']) await jobs.add('purge-webhook', key);
    await idle(jobs);
    const client = new Redis(stores.redisUrl);
    const names = await client.keys(`${QUEUE_PREFIX}*`);
    await client.quit();
    expect(names.filter((name) => [...keys, 'bad'].some((key) => name.includes(key)))).toEqual([]);
  });

  it('ends the job in progress at its next chunk when the process stops', async () => {
    let chunks = 0;
    const jobs: BackgroundJobsService = start(async () => {
      for (; !jobs.isStopping; chunks += 1) await new Promise((resolve) => setTimeout(resolve, 50));
    });
    await jobs.add('purge-webhook', 'endless');
    await eventually(() => expect(chunks).toBeGreaterThan(0));
    const stoppedAt = performance.now();
    await jobs.stop();
    const atStop = chunks;
    expect(performance.now() - stoppedAt).toBeLessThan(10_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(chunks).toBe(atStop);
  });

  it('returns false, and no counts, while Redis is unavailable, and runs jobs again afterwards', async () => {
    const handled: string[] = [];
    const jobs = start((key) => Promise.resolve(void handled.push(key)));
    await jobs.add('purge-webhook', 'before');
    await eventually(() => expect(handled).toEqual(['before']));
    await stores.redis.stop();
    try {
      expect(await jobs.add('purge-webhook', 'meanwhile')).toBe(false);
      expect(await jobs.countJobs()).toBeNull();
    } finally {
      await stores.redis.start();
    }
    await eventually(async () => expect(await jobs.add('purge-webhook', 'after')).toBe(true));
    await eventually(() => expect(handled).toContain('after'));
  });
});
