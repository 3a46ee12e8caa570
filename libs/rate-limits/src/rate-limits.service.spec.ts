import { Redis } from 'ioredis';
import { RateLimitedError, UnavailableError } from '@rmm/errors';
import { startStores, type Stores, type TcpProxy } from '@rmm/testing-services';
import { openShared } from '../test/open-shared.js';
import type { RateLimitWindow } from './rate-limits.config.js';
import { RateLimits } from './rate-limits.service.js';

describe('RateLimits', () => {
  let stores: Stores;
  let proxy: TcpProxy;
  let admin: Redis;
  let redis: { shared: Redis };
  let limits: RateLimits;
  let count = 0;

  const limitOf = (changes: Partial<RateLimitWindow> = {}): RateLimitWindow => ({
    name: `spec-${++count}`,
    limit: 3,
    windowSeconds: 60,
    onRedisDown: 'refuse',
    ...changes,
  });
  const attempt = (limit: RateLimitWindow, key = 'k') =>
    limits.hit(limit, key).then(
      () => 'admitted',
      (error: unknown) => error,
    );
  const windowKey = ({ name, countRefused }: RateLimitWindow, key: string) =>
    `rmm:limit:${countRefused ? 'guess:' : ''}${name}:{${key}}`;
  /** Ages all attempts of a window, as time would. */
  const age = async (limit: RateLimitWindow, byMs: number, key = 'k') => {
    const name = windowKey(limit, key);
    const times = await admin.lrange(name, 0, -1);
    await admin
      .multi()
      .del(name)
      .rpush(name, ...times.map((time) => String(Number(time) - byMs)))
      .exec();
  };

  beforeAll(async () => {
    stores = await startStores();
    proxy = await stores.gate(stores.redisUrl);
    admin = new Redis(stores.redisUrl);
    redis = { shared: await openShared(proxy.url) };
    limits = new RateLimits(redis, { rateLimitsEnabled: true });
  });

  afterAll(async () => {
    redis.shared.disconnect();
    await admin.quit();
    await stores.stop();
  });

  it('admits as many attempts as the limit and then returns when the next one is admitted', async () => {
    const limit = limitOf();
    for (let i = 0; i < 3; i++) expect(await attempt(limit)).toBe('admitted');
    await age(limit, 20_500);
    const refused = (await attempt(limit)) as RateLimitedError;
    expect(refused).toBeInstanceOf(RateLimitedError);
    expect(refused.retryAfterSeconds).toBe(40);
    expect(await attempt(limit, 'another')).toBe('admitted');
  });

  it('reports each refusal to its observer, by the name of the window and the cause', async () => {
    const refusals: string[] = [];
    const observer = { countRefusal: (...refusal: string[]) => void refusals.push(refusal.join(' ')) };
    const observed = new RateLimits(redis, { rateLimitsEnabled: true }, observer);
    const limit = limitOf({ limit: 1 });
    await observed.hit(limit, 'k');
    await expect(observed.hit(limit, 'k')).rejects.toThrow(RateLimitedError);
    expect(refusals).toEqual([`${limit.name} limit`]);
    const away = new RateLimits(
      { shared: redis.shared.duplicate({ port: 1, lazyConnect: true, retryStrategy: null }) },
      { rateLimitsEnabled: true },
      observer,
    );
    await expect(away.hit(limit, 'k')).rejects.toThrow(UnavailableError);
    expect(refusals.slice(1)).toEqual([`${limit.name} redis`]);
  });

  it('slides: each attempt expires by itself', async () => {
    const limit = limitOf({ limit: 2 });
    await attempt(limit);
    await age(limit, 50_000);
    await attempt(limit);
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
    await age(limit, 10_001);
    expect(await attempt(limit)).toBe('admitted');
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
  });

  it('admits exactly the limit of a hundred concurrent attempts', async () => {
    const limit = limitOf({ limit: 10 });
    const results = await Promise.all(Array.from({ length: 100 }, () => attempt(limit)));
    expect(results.filter((result) => result === 'admitted')).toHaveLength(10);
  });

  it('does not count refused attempts of an ordinary window', async () => {
    const limit = limitOf({ limit: 1 });
    await attempt(limit);
    await age(limit, 59_000);
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
    await age(limit, 1_001);
    expect(await attempt(limit)).toBe('admitted');
  });

  it('counts refused attempts of a window against guessing', async () => {
    const limit = limitOf({ limit: 2, countRefused: true });
    await attempt(limit);
    await attempt(limit);
    await age(limit, 59_000);
    const refused = (await attempt(limit)) as RateLimitedError;
    expect(refused.retryAfterSeconds).toBe(1);
    await age(limit, 1_001);
    expect(await attempt(limit)).toBe('admitted'); // one of the two counted attempts is the refused one
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
  });

  it('forgets the attempts of a key on reset', async () => {
    const limit = limitOf({ limit: 1 });
    await attempt(limit);
    await limits.reset(limit, 'k');
    expect(await attempt(limit)).toBe('admitted');
  });

  it('expires the Redis key together with the window', async () => {
    const limit = limitOf({ windowSeconds: 30 });
    await attempt(limit);
    const left = await admin.pttl(windowKey(limit, 'k'));
    expect(left).toBeGreaterThan(29_000);
    expect(left).toBeLessThanOrEqual(30_000);
  });

  it('admits everything when rate limits are disabled', async () => {
    const off = new RateLimits(redis, { rateLimitsEnabled: false });
    const limit = limitOf({ limit: 1 });
    for (let i = 0; i < 3; i++) await expect(off.hit(limit, 'k')).resolves.toBeUndefined();
  });

  it('takes the window of the same name from the configuration', async () => {
    const limit = limitOf({ limit: 100 });
    const configured = new RateLimits(redis, { rateLimitsEnabled: true, limits: { any: { ...limit, limit: 1 } } });
    await configured.hit(limit, 'k');
    await expect(configured.hit(limit, 'k')).rejects.toBeInstanceOf(RateLimitedError);
  });

  describe.each(['shut', 'stall'] as const)('while Redis is away (%s)', (how) => {
    beforeAll(() => proxy[how]());
    afterAll(async () => {
      jest.restoreAllMocks();
      await proxy.open();
    });

    it('refuses, admits or counts in memory as the window says', async () => {
      const refused = await attempt(limitOf());
      expect(refused).toBeInstanceOf(UnavailableError);
      expect(await attempt(limitOf({ onRedisDown: 'allow', limit: 0 }))).toBe('admitted');
      let now = Date.now();
      jest.spyOn(Date, 'now').mockImplementation(() => now);
      const memory = limitOf({ onRedisDown: 'memory', limit: 1 });
      expect(await attempt(memory)).toBe('admitted');
      now += 30_000;
      const full = (await attempt(memory)) as RateLimitedError;
      expect(full.retryAfterSeconds).toBe(30);
      now += 30_000;
      expect(await attempt(memory)).toBe('admitted');
    });

    it('does not wait for Redis in each of the calls that follow a failure', async () => {
      const startedAt = performance.now();
      await attempt(limitOf({ onRedisDown: 'allow' }));
      // The clock of the pause is stopped: without the pause each call would wait for the time limit of Redis.
      jest.spyOn(performance, 'now').mockReturnValue(startedAt);
      const from = Date.now();
      for (let call = 0; call < 20; call += 1) {
        expect(await attempt(limitOf({ onRedisDown: 'memory' }))).toBe('admitted');
      }
      expect(Date.now() - from).toBeLessThan(2_000);
    });
  });
});
