import { Redis } from 'ioredis';
import { EventEmitter, once } from 'node:events';
import { RateLimitedError, UnavailableError } from '@rmm/errors';
import { startStores, type Stores, type TcpProxy } from '@rmm/testing-services';
import { openShared } from '../test/open-shared.js';
import { type ConcurrencyLimit, ConcurrencyLimits } from './concurrency-limits.service.js';

const LIMIT: ConcurrencyLimit = { name: 'import', limit: 2, leaseSeconds: 60, retryAfterSeconds: 7 };

describe('ConcurrencyLimits', () => {
  let stores: Stores;
  let proxy: TcpProxy;
  let admin: Redis;
  let redis: { shared: Redis };
  /** Two processes of the fleet. */
  let here: ConcurrencyLimits;
  let there: ConcurrencyLimits;

  beforeAll(async () => {
    stores = await startStores();
    proxy = await stores.gate(stores.redisUrl);
    admin = new Redis(stores.redisUrl);
    redis = { shared: await openShared(proxy.url) };
    here = new ConcurrencyLimits(redis);
    there = new ConcurrencyLimits(redis);
  });
  afterAll(async () => {
    redis.shared.disconnect();
    await admin.quit();
    await stores.stop();
  });

  /** Starts work that lasts until `end` is called. */
  async function begin(limits: ConcurrencyLimits, key: string, limit = LIMIT) {
    const events = new EventEmitter();
    const started = once(events, 'started');
    const result = limits.run(limit, key, async () => {
      events.emit('started');
      await once(events, 'end');
      return 'result';
    });
    await Promise.race([started, result]);
    return { result, end: () => events.emit('end') };
  }

  it('counts the work of all processes and frees a slot when work ends', async () => {
    const [first, second] = [await begin(here, 'p-1'), await begin(there, 'p-1')];
    await expect(here.run(LIMIT, 'p-1', () => Promise.resolve())).rejects.toBeInstanceOf(RateLimitedError);
    await expect(there.run(LIMIT, 'p-1', () => Promise.resolve())).rejects.toBeInstanceOf(RateLimitedError);
    first.end();
    expect(await first.result).toBe('result');
    expect(await there.run(LIMIT, 'p-1', () => Promise.resolve('next'))).toBe('next');
    second.end();
    await second.result;
  });

  it('varies the wait of requests that are refused together', async () => {
    const [first, second] = [await begin(here, 'p-0'), await begin(here, 'p-0')];
    const waits = await Promise.all(
      Array.from({ length: 40 }, () =>
        here.run(LIMIT, 'p-0', () => Promise.reject(new Error('not refused'))).catch((e: RateLimitedError) => e),
      ),
    );
    const seconds = waits.map((refusal) => refusal.retryAfterSeconds ?? 0);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(7);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(14);
    expect(new Set(seconds).size).toBeGreaterThan(1);
    for (const { end } of [first, second]) end();
    await Promise.all([first.result, second.result]);
  });

  it('counts each key by itself', async () => {
    const one = { ...LIMIT, limit: 1 };
    const running = await begin(here, 'p-2', one);
    expect(await here.run(one, 'p-3', () => Promise.resolve('other'))).toBe('other');
    running.end();
    await running.result;
  });

  it('counts the work of all keys in one process, and frees it when work ends or fails', async () => {
    const three = { ...LIMIT, name: 'per-process', perProcess: 3 };
    const running = [await begin(here, 'p-7', three), await begin(here, 'p-7', three), await begin(here, 'p-8', three)];
    await expect(here.run(three, 'p-9', () => Promise.resolve())).rejects.toBeInstanceOf(UnavailableError);
    await expect(here.run(three, 'p-7', () => Promise.resolve())).rejects.toBeInstanceOf(RateLimitedError);
    expect(await here.run({ ...LIMIT, name: 'other' }, 'p-9', () => Promise.resolve('other'))).toBe('other');
    expect(await there.run(three, 'p-9', () => Promise.resolve('elsewhere'))).toBe('elsewhere');
    running[2].end();
    await running[2].result;
    await expect(here.run(three, 'p-9', () => Promise.reject(new Error('bad row')))).rejects.toThrow('bad row');
    expect(await here.run(three, 'p-9', () => Promise.resolve('next'))).toBe('next');
    for (const { end } of running) end();
    await Promise.all(running.map(({ result }) => result));
  });

  it('counts work of a limit without a number for the process in none', async () => {
    const [counted, uncounted] = [1, undefined].map((perProcess) => ({ ...LIMIT, name: 'nested', perProcess }));
    const outer = await begin(here, 'p-1', uncounted);
    expect(await here.run(counted, 'p-2', () => here.run(uncounted, 'p-3', () => Promise.resolve('done')))).toBe(
      'done',
    );
    outer.end();
    await outer.result;
  });

  it('frees the slot of work that failed and passes its error on', async () => {
    const one = { ...LIMIT, limit: 1 };
    const failed = here.run(one, 'p-4', () => Promise.reject(new Error('bad row')));
    await expect(failed).rejects.toThrow('bad row');
    expect(await there.run(one, 'p-4', () => Promise.resolve('next'))).toBe('next');
  });

  it('frees the slots of a process that died once their lease has expired', async () => {
    const one = { ...LIMIT, limit: 1 };
    await admin.zadd('rmm:running:import:{p-5}', Date.now() - 1, 'died');
    expect(await here.run(one, 'p-5', () => Promise.resolve('next'))).toBe('next');
    await admin.zadd('rmm:running:import:{p-5}', Date.now() + 60_000, 'runs');
    await expect(here.run(one, 'p-5', () => Promise.resolve())).rejects.toBeInstanceOf(RateLimitedError);
  });

  it('counts the work of this process alone while Redis is away', async () => {
    await proxy.shut();
    const [first, second] = [await begin(here, 'p-6'), await begin(here, 'p-6')];
    await expect(here.run(LIMIT, 'p-6', () => Promise.resolve())).rejects.toBeInstanceOf(RateLimitedError);
    expect(await there.run(LIMIT, 'p-6', () => Promise.resolve('elsewhere'))).toBe('elsewhere');
    for (const running of [first, second]) running.end();
    await Promise.all([first.result, second.result]);
    await proxy.open();
  });
});
