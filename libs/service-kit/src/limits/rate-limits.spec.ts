import { type TcpProxy, type Stores, startStores } from '@rmm/testing-services';
import { Redis } from 'ioredis';
import { RateLimitedError, UnavailableError } from '../errors/errors.js';
import { HealthRegistry } from '../health/health-registry.js';
import { Logger } from '../logging/logger.js';
import { RedisConnections } from '../redis/redis-connections.js';
import { FixedClock } from '../time/clock.js';
import { addressBucket, clientBucket } from './address-bucket.js';
import { type RateLimit, RateLimits } from './rate-limits.js';

describe('rate limits', () => {
  let stores: Stores;
  let gate: TcpProxy;
  let admin: Redis;
  let redis: RedisConnections;
  let limits: RateLimits;
  const clock = new FixedClock();
  const logger = Logger.create({ service: 'identity', level: 'error', sink: { write: () => undefined } });
  let count = 0;

  const limitOf = (changes: Partial<RateLimit> = {}): RateLimit => ({
    name: `spec-${++count}`,
    limit: 3,
    windowSeconds: 60,
    onRedisDown: 'refuse',
    ...changes,
  });
  const attempt = (limit: RateLimit, key = 'k') =>
    limits.hit(limit, key).then(
      () => 'in',
      (error: unknown) => error,
    );
  /** Makes all attempts of a window older, as time would. */
  const age = async (limit: RateLimit, byMs: number, key = 'k') => {
    const name = `rmm:limit:${limit.name}:{${key}}`;
    const times = await admin.lrange(name, 0, -1);
    await admin
      .multi()
      .del(name)
      .rpush(name, ...times.map((time) => String(Number(time) - byMs)))
      .exec();
  };

  beforeAll(async () => {
    stores = await startStores();
    gate = await stores.gate(stores.redisUrl);
    admin = new Redis(stores.redisUrl);
    redis = new RedisConnections({ redisUrl: gate.url }, new HealthRegistry(), logger);
    await redis.onModuleInit();
    limits = new RateLimits(redis, { rateLimitsEnabled: true }, clock);
  });

  afterAll(async () => {
    await redis.onApplicationShutdown();
    await admin.quit();
    await stores.stop();
  });

  it('lets in as many as the limit says, then says when to come again', async () => {
    const limit = limitOf();
    for (let i = 0; i < 3; i++) expect(await attempt(limit)).toBe('in');
    await age(limit, 20_500);
    const refused = (await attempt(limit)) as RateLimitedError;
    expect(refused).toBeInstanceOf(RateLimitedError);
    expect(refused.retryAfterSeconds).toBe(40);
    expect(await attempt(limit, 'another')).toBe('in');
  });

  it('slides: each attempt leaves the window by itself', async () => {
    const limit = limitOf({ limit: 2 });
    await attempt(limit);
    await age(limit, 50_000);
    await attempt(limit);
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
    await age(limit, 10_001);
    expect(await attempt(limit)).toBe('in');
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
  });

  it('admits exactly the limit of a hundred that come together', async () => {
    const limit = limitOf({ limit: 10 });
    const results = await Promise.all(Array.from({ length: 100 }, () => attempt(limit)));
    expect(results.filter((result) => result === 'in')).toHaveLength(10);
  });

  it('does not prolong an ordinary window by refusals', async () => {
    const limit = limitOf({ limit: 1 });
    await attempt(limit);
    await age(limit, 59_000);
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
    await age(limit, 1_001);
    expect(await attempt(limit)).toBe('in');
  });

  it('keeps a window against guessing shut while the guessing goes on', async () => {
    const limit = limitOf({ limit: 2, countRefused: true });
    await attempt(limit);
    await attempt(limit);
    await age(limit, 59_000);
    const refused = (await attempt(limit)) as RateLimitedError;
    expect(refused.retryAfterSeconds).toBe(1);
    await age(limit, 1_001);
    expect(await attempt(limit)).toBe('in'); // one of the two is the refused one
    expect(await attempt(limit)).toBeInstanceOf(RateLimitedError);
  });

  it('forgets a key on reset', async () => {
    const limit = limitOf({ limit: 1 });
    await attempt(limit);
    await limits.reset(limit, 'k');
    expect(await attempt(limit)).toBe('in');
  });

  it('leaves nothing in Redis once a window is over', async () => {
    const limit = limitOf({ windowSeconds: 30 });
    await attempt(limit);
    const left = await admin.pttl(`rmm:limit:${limit.name}:{k}`);
    expect(left).toBeGreaterThan(29_000);
    expect(left).toBeLessThanOrEqual(30_000);
  });

  it('is off where it is turned off', async () => {
    const off = new RateLimits(redis, { rateLimitsEnabled: false }, clock);
    const limit = limitOf({ limit: 1 });
    for (let i = 0; i < 3; i++) await expect(off.hit(limit, 'k')).resolves.toBeUndefined();
  });

  describe.each(['shut', 'stall'] as const)('while Redis is gone (%s)', (how) => {
    beforeAll(() => gate[how]());
    afterAll(async () => {
      await gate.open();
    });

    it('refuses, lets pass or counts in memory, as the limit says', async () => {
      const refused = await attempt(limitOf());
      expect(refused).toBeInstanceOf(UnavailableError);
      expect(await attempt(limitOf({ onRedisDown: 'allow', limit: 0 }))).toBe('in');
      const memory = limitOf({ onRedisDown: 'memory', limit: 1 });
      expect(await attempt(memory)).toBe('in');
      clock.advance(30_000);
      const full = (await attempt(memory)) as RateLimitedError;
      expect(full.retryAfterSeconds).toBe(30);
      clock.advance(30_000);
      expect(await attempt(memory)).toBe('in');
    }, 20_000);
  });
});

describe('the bucket of an address', () => {
  it('is the address for IPv4 and the /64 for IPv6', () => {
    expect(addressBucket('198.51.100.7')).toBe('198.51.100.7');
    expect(addressBucket('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(addressBucket('2001:db8:1:2:ffff::1')).toBe(addressBucket('2001:db8:1:2::9'));
    expect(addressBucket('2001:db8:1:3::9')).not.toBe(addressBucket('2001:db8:1:2::9'));
    expect(addressBucket('::ffff:198.51.100.7')).toBe('198.51.100.7');
  });

  it('is a fingerprint where no address is known', () => {
    const headers = { 'user-agent': 'x', 'accept-language': 'de', origin: 'https://a' };
    expect(clientBucket({ headers })).toBe(clientBucket({ headers: { ...headers } }));
    expect(clientBucket({ headers })).not.toBe(clientBucket({ headers: { ...headers, origin: 'https://b' } }));
    expect(clientBucket({ address: '1.2.3.4', headers })).toBe('1.2.3.4');
  });
});
