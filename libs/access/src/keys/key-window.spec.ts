import { HealthRegistry, Logger, RedisConnections, UnavailableError } from '@rmm/service-kit';
import { startStores, type Stores } from '@rmm/testing-services';
import { KeyWindow, WINDOW_SECONDS } from './key-window.js';

jest.setTimeout(60_000);

let stores: Stores;
let redis: RedisConnections;
let window: KeyWindow;
let bucket: string;
let buckets = 0;

beforeAll(async () => {
  stores = await startStores();
  const logger = Logger.create({ service: 'credentials', level: 'error' });
  redis = new RedisConnections({ redisUrl: stores.redisUrl }, new HealthRegistry(), logger);
  window = new KeyWindow(redis);
  await new Promise<void>((resolve) => redis.shared.once('ready', () => resolve()));
});
afterAll(async () => {
  await redis.onApplicationShutdown();
  await stores.stop();
});
beforeEach(() => {
  bucket = `api:spec-${++buckets}`;
});

const cells = () => `rmm:keys:window:{${bucket}}:cells`;
const total = () => `rmm:keys:window:{${bucket}}:total`;

/** Makes everything counted so far as old as if `seconds` had passed since. */
async function age(seconds: number): Promise<void> {
  const counted = await redis.shared.lrange(cells(), 0, -1);
  const older = counted.map((cell) => {
    const [second, count] = cell.split(':').map(Number);
    return `${second - seconds}:${count}`;
  });
  await redis.shared
    .multi()
    .del(cells())
    .rpush(cells(), ...older)
    .exec();
}

const nowOfRedis = async () => Number((await redis.shared.time())[0]);

async function chargeTimes(times: number, limit: number) {
  let last = await window.charge(bucket, limit);
  for (let i = 1; i < times; i++) last = await window.charge(bucket, limit);
  return last;
}

describe('the sliding hour of a key', () => {
  it('admits up to the limit and says what is left, and when the first request leaves', async () => {
    const before = await nowOfRedis();
    const first = await window.charge(bucket, 3);
    expect(first).toMatchObject({ admitted: true, limit: 3, remaining: 2, retryAfterSeconds: 0 });
    expect(first.resetAtSeconds).toBeGreaterThanOrEqual(before + WINDOW_SECONDS + 1);
    expect(first.resetAtSeconds).toBeLessThanOrEqual(before + WINDOW_SECONDS + 3);
    expect((await window.charge(bucket, 3)).remaining).toBe(1);
    expect((await window.charge(bucket, 3)).remaining).toBe(0);
    const refused = await window.charge(bucket, 3);
    expect(refused).toMatchObject({ admitted: false, remaining: 0, resetAtSeconds: first.resetAtSeconds });
    expect(refused.retryAfterSeconds).toBeGreaterThan(WINDOW_SECONDS - 5);
  });

  it('does not count what it refuses', async () => {
    await chargeTimes(20, 2);
    expect(await redis.shared.get(total())).toBe('2');
  });

  it('never admits more than the limit at once, however many ask together', async () => {
    const verdicts = await Promise.all(Array.from({ length: 200 }, () => window.charge(bucket, 50)));
    expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(50);
  });

  it('still counts a request after 3600 seconds, since it may have come late in its second', async () => {
    await chargeTimes(2, 2);
    await age(WINDOW_SECONDS - 5);
    expect((await window.charge(bucket, 2)).admitted).toBe(false);
    await age(5);
    await age(2);
    expect((await window.charge(bucket, 2)).admitted).toBe(true);
  });

  it('lets go cell by cell, and Retry-After says when the next one goes', async () => {
    await chargeTimes(2, 4);
    await age(1_000);
    await chargeTimes(2, 4);
    await age(100);
    const refused = await window.charge(bucket, 4);
    expect(refused.admitted).toBe(false);
    expect(refused.retryAfterSeconds).toBeGreaterThan(WINDOW_SECONDS - 1_100 - 5);
    expect(refused.retryAfterSeconds).toBeLessThanOrEqual(WINDOW_SECONDS - 1_100 + 1);
    await age(refused.retryAfterSeconds);
    expect(await window.charge(bucket, 4)).toMatchObject({ admitted: true, remaining: 1 });
  });

  it('honours a limit that was lowered, and counts how long that lasts', async () => {
    await chargeTimes(3, 10);
    await age(600);
    await chargeTimes(3, 10);
    const refused = await window.charge(bucket, 2);
    expect(refused.admitted).toBe(false);
    // Five of six must leave: that is when the younger three do.
    expect(refused.retryAfterSeconds).toBeGreaterThan(WINDOW_SECONDS - 5);
    expect((await window.charge(bucket, 7)).admitted).toBe(true);
  });

  it('keeps one cell per second and goes away by itself', async () => {
    await chargeTimes(30, 100);
    expect(await redis.shared.llen(cells())).toBeLessThanOrEqual(5);
    for (const name of [cells(), total()]) {
      const ttl = await redis.shared.ttl(name);
      expect(ttl).toBeGreaterThan(WINDOW_SECONDS - 10);
      expect(ttl).toBeLessThanOrEqual(WINDOW_SECONDS + 2);
    }
  });

  it('starts afresh once all of it has left', async () => {
    await chargeTimes(5, 5);
    await age(WINDOW_SECONDS + 10);
    expect(await window.charge(bucket, 5)).toMatchObject({ admitted: true, remaining: 4 });
    expect(await redis.shared.get(total())).toBe('1');
  });

  it('is not fooled by a clock that went back', async () => {
    await chargeTimes(2, 3);
    await age(-30);
    expect((await window.charge(bucket, 3)).admitted).toBe(true);
    expect((await window.charge(bucket, 3)).admitted).toBe(false);
  });

  it('of one key is not that of another', async () => {
    await chargeTimes(2, 2);
    bucket = `${bucket}-other`;
    expect((await window.charge(bucket, 2)).remaining).toBe(1);
  });

  it('survives that Redis forgets its scripts', async () => {
    await window.charge(bucket, 2);
    await redis.shared.script('FLUSH');
    expect((await window.charge(bucket, 2)).remaining).toBe(0);
  });

  it('that cannot be read is 503, and heals', async () => {
    await stores.redis.stop();
    await expect(window.charge(bucket, 2)).rejects.toBeInstanceOf(UnavailableError);
    const back = new Promise<void>((resolve) => redis.shared.once('ready', () => resolve()));
    await stores.redis.start();
    await back;
    expect((await window.charge(bucket, 2)).admitted).toBe(true);
  });
});
