import { HealthRegistry, Logger, RedisConnections, UnavailableError } from '@rmm/service-kit';
import { startStores, type Stores } from '@rmm/testing-services';
import { KeyWindow, WINDOW_SECONDS, type KeyWindowResult } from './key-window.service.js';

let stores: Stores;
let redis: RedisConnections;
let window: KeyWindow;
let bucket: string;
let buckets = 0;

beforeAll(async () => {
  stores = await startStores();
  const logger = Logger.create({ service: 'credentials', level: 'error' });
  redis = new RedisConnections({ redisUrl: stores.redisUrl, redisClusterNodes: [] }, new HealthRegistry(), logger);
  await new Promise<void>((resolve) => redis.shared.once('ready', () => resolve()));
});
afterAll(async () => {
  await redis.onApplicationShutdown();
  await stores.stop();
});
beforeEach(() => {
  bucket = `api:spec-${++buckets}`;
  window = new KeyWindow(redis);
});

const cells = () => `rmm:keys:window:{${bucket}}:cells`;
const total = () => `rmm:keys:window:{${bucket}}:total`;

/** Advances the clock of the script. */
const pass = (seconds: number) => (window.clockOffsetSeconds += seconds);

const nowOfRedis = async () => Number((await redis.shared.time())[0]);

/** Charges some requests in one turn. @returns the results, and the second in which the script charged them */
async function chargeTogether(limits: number[]) {
  const results = await Promise.all(limits.map((limit) => window.charge(bucket, limit)));
  const refused = results.find(({ allowed }) => !allowed);
  if (refused) return { results, second: refused.resetAtSeconds - refused.retryAfterSeconds };
  const [last] = await redis.shared.lrange(cells(), -1, -1);
  return { results, second: Number(last.split(':')[0]) };
}

async function chargeAt(second: number, limit: number) {
  window.clockOffsetSeconds = second - (await nowOfRedis());
  return chargeTogether([limit]);
}

const scriptsRun = async () =>
  [...(await redis.shared.info('commandstats')).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );

/** Random numbers that come again with the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** Model of one window: every allowed request with its second. */
class Model {
  readonly allowed: number[] = [];

  charge(second: number, limit: number): KeyWindowResult {
    const counted = this.allowed.filter((earlier) => earlier + WINDOW_SECONDS >= second);
    if (counted.length < limit) {
      this.allowed.push(second);
      const resetAtSeconds = (counted[0] ?? second) + WINDOW_SECONDS + 1;
      return { allowed: true, limit, remaining: limit - counted.length - 1, resetAtSeconds, retryAfterSeconds: 0 };
    }
    const resetAtSeconds = counted[counted.length - limit] + WINDOW_SECONDS + 1;
    return { allowed: false, limit, remaining: 0, resetAtSeconds, retryAfterSeconds: resetAtSeconds - second };
  }

  /** Most requests that any hour may have seen, whenever in their seconds they came. */
  fullestHour(): number {
    const within = (from: number) => this.allowed.filter((at) => at >= from && at - from <= WINDOW_SECONDS).length;
    return Math.max(...this.allowed.map(within));
  }
}

async function chargeTimes(times: number, limit: number) {
  let last = await window.charge(bucket, limit);
  for (let i = 1; i < times; i++) last = await window.charge(bucket, limit);
  return last;
}

describe('KeyWindow', () => {
  it('allows requests up to the limit and returns the remaining number and the reset time', async () => {
    const before = await nowOfRedis();
    const first = await window.charge(bucket, 3);
    expect(first).toMatchObject({ allowed: true, limit: 3, remaining: 2, retryAfterSeconds: 0 });
    expect(first.resetAtSeconds).toBeGreaterThanOrEqual(before + WINDOW_SECONDS + 1);
    expect(first.resetAtSeconds).toBeLessThanOrEqual(before + WINDOW_SECONDS + 3);
    expect((await window.charge(bucket, 3)).remaining).toBe(1);
    expect((await window.charge(bucket, 3)).remaining).toBe(0);
    const refused = await window.charge(bucket, 3);
    expect(refused).toMatchObject({ allowed: false, remaining: 0, resetAtSeconds: first.resetAtSeconds });
    expect(refused.retryAfterSeconds).toBeGreaterThan(WINDOW_SECONDS - 5);
  });

  it('does not count refused requests', async () => {
    await chargeTimes(20, 2);
    expect(await redis.shared.get(total())).toBe('2');
  });

  it('allows no more than the limit for concurrent requests', async () => {
    const results = await Promise.all(Array.from({ length: 200 }, () => window.charge(bucket, 50)));
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(50);
  });

  it('counts a request for 3600 seconds after the end of its second', async () => {
    await chargeTimes(2, 2);
    pass(WINDOW_SECONDS - 5);
    expect((await window.charge(bucket, 2)).allowed).toBe(false);
    pass(7);
    expect((await window.charge(bucket, 2)).allowed).toBe(true);
  });

  it('frees cell by cell and returns the time of the next one as Retry-After', async () => {
    await chargeTimes(2, 4);
    pass(1_000);
    await chargeTimes(2, 4);
    pass(100);
    const refused = await window.charge(bucket, 4);
    expect(refused.allowed).toBe(false);
    expect(refused.retryAfterSeconds).toBeGreaterThan(WINDOW_SECONDS - 1_100 - 5);
    expect(refused.retryAfterSeconds).toBeLessThanOrEqual(WINDOW_SECONDS - 1_100 + 1);
    pass(refused.retryAfterSeconds);
    expect(await window.charge(bucket, 4)).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('allows the next request exactly at Retry-After', async () => {
    for (let attempt = 0; attempt < 5; attempt++) {
      bucket = `${bucket}-${attempt}`;
      window.clockOffsetSeconds = 0;
      await chargeTimes(3, 3);
      const { resetAtSeconds } = await window.charge(bucket, 3);
      const before = await chargeAt(resetAtSeconds - 1, 3);
      const then = await chargeAt(resetAtSeconds, 3);
      // Redis' own second may end between reading it and charging: then this proves nothing.
      if (before.second !== resetAtSeconds - 1 || then.second !== resetAtSeconds) continue;
      expect(before.results[0]).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
      expect(then.results[0].allowed).toBe(true);
      return;
    }
    throw new Error('The second ended in the middle five times');
  });

  it.each([1, 2, 3])('matches the model through random hours (%i)', async (seed) => {
    const roll = dice(seed);
    const limit = 8 + roll(60);
    const model = new Model();
    for (let step = 0; step < 250; step++) {
      pass(roll(10) === 0 ? roll(WINDOW_SECONDS) : roll(90));
      const limits = Array.from({ length: 1 + roll(6) }, () => limit);
      const { results, second } = await chargeTogether(limits);
      expect(results).toEqual(limits.map((each) => model.charge(second, each)));
    }
    expect(model.fullestHour()).toBe(limit);
  });

  it('matches the model while the limit changes and the clock goes back', async () => {
    const roll = dice(4);
    const model = new Model();
    for (let step = 0; step < 250; step++) {
      pass(roll(120) - 20);
      const limits = Array.from({ length: 1 + roll(4) }, () => 1 + roll(150));
      const { results, second } = await chargeTogether(limits);
      expect(results).toEqual(limits.map((each) => model.charge(second, each)));
    }
    // Some refusals looked past the first cells: more than one chunk had to leave.
    expect(model.allowed.length).toBeGreaterThan(100);
  });

  it('sends concurrent charges in one Redis call', async () => {
    await window.charge(bucket, 100);
    const before = await scriptsRun();
    const results = await Promise.all([
      ...Array.from({ length: 30 }, () => window.charge(bucket, 20)),
      ...Array.from({ length: 30 }, () => window.charge(`${bucket}-other`, 10)),
    ]);
    expect((await scriptsRun()) - before).toBe(1);
    expect(results.map(({ allowed }) => allowed)).toEqual(
      [19, 11, 10, 20].flatMap((count, index) => Array.from({ length: count }, () => index % 2 === 0)),
    );
  });

  it('sends one call for each window to a Redis cluster', async () => {
    const clustered = { shared: Object.create(redis.shared, { isCluster: { value: true } }) as typeof redis.shared };
    window = new KeyWindow(clustered as RedisConnections);
    const before = await scriptsRun();
    const others = ['one', 'two', 'one'].map((name) => window.charge(`${bucket}-${name}`, 5));
    expect((await Promise.all(others)).map(({ remaining }) => remaining)).toEqual([4, 4, 3]);
    expect((await scriptsRun()) - before).toBe(2);
  });

  it('restores a lost sum from the cells', async () => {
    await chargeTimes(3, 5);
    await redis.shared.del(total());
    expect((await window.charge(bucket, 5)).remaining).toBe(1);
  });

  it('applies a lowered limit and returns its Retry-After', async () => {
    await chargeTimes(3, 10);
    pass(600);
    await chargeTimes(3, 10);
    const refused = await window.charge(bucket, 2);
    expect(refused.allowed).toBe(false);
    // Five of six must leave: that is when the younger three do.
    expect(refused.retryAfterSeconds).toBeGreaterThan(WINDOW_SECONDS - 5);
    expect((await window.charge(bucket, 7)).allowed).toBe(true);
  });

  it('stores one cell for each second and expires', async () => {
    await chargeTimes(30, 100);
    expect(await redis.shared.llen(cells())).toBeLessThanOrEqual(5);
    for (const name of [cells(), total()]) {
      const ttl = await redis.shared.ttl(name);
      expect(ttl).toBeGreaterThan(WINDOW_SECONDS - 10);
      expect(ttl).toBeLessThanOrEqual(WINDOW_SECONDS + 2);
    }
  });

  it('starts again when all requests have left', async () => {
    await chargeTimes(5, 5);
    pass(WINDOW_SECONDS + 10);
    expect(await window.charge(bucket, 5)).toMatchObject({ allowed: true, remaining: 4 });
    expect(await redis.shared.get(total())).toBe('1');
  });

  it('tolerates a clock that went back', async () => {
    await chargeTimes(2, 3);
    pass(-30);
    expect((await window.charge(bucket, 3)).allowed).toBe(true);
    expect((await window.charge(bucket, 3)).allowed).toBe(false);
  });

  it('separates the windows of different keys', async () => {
    await chargeTimes(2, 2);
    bucket = `${bucket}-other`;
    expect((await window.charge(bucket, 2)).remaining).toBe(1);
  });

  it('loads the script again when Redis has lost it', async () => {
    await window.charge(bucket, 2);
    await redis.shared.script('FLUSH');
    expect((await window.charge(bucket, 2)).remaining).toBe(0);
  });

  describe('read', () => {
    it('returns what a charge would find and charges nothing', async () => {
      const empty = await window.read(bucket, 3);
      expect(empty).toMatchObject({ allowed: true, limit: 3, remaining: 3, retryAfterSeconds: 0 });
      const charged = await chargeTimes(2, 3);
      for (let n = 0; n < 3; n += 1) {
        expect(await window.read(bucket, 3)).toEqual({ ...charged, remaining: 1 });
      }
      await chargeTimes(1, 3);
      const refused = await window.charge(bucket, 3);
      expect(await window.read(bucket, 3)).toMatchObject({
        allowed: false,
        remaining: 0,
        resetAtSeconds: refused.resetAtSeconds,
      });
      expect(await redis.shared.get(total())).toBe('3');
    });

    it('leaves out requests of more than an hour ago, which are stored until the next charge', async () => {
      for (let n = 0; n < 40; n += 1) {
        await chargeTimes(1, 100);
        pass(2);
      }
      pass(WINDOW_SECONDS - 40);
      const read = await window.read(bucket, 100);
      expect(read.remaining).toBeGreaterThan(75);
      expect(read.remaining).toBeLessThan(85);
      const limited = await window.read(bucket, 5);
      expect(limited).toMatchObject({ allowed: false, remaining: 0 });
      expect(await window.charge(bucket, 5)).toMatchObject({ allowed: false, resetAtSeconds: limited.resetAtSeconds });
      pass(200);
      expect(await window.read(bucket, 100)).toMatchObject({ allowed: true, remaining: 100 });
    });

    it('loads its script when Redis does not have it', async () => {
      await chargeTimes(1, 2);
      await redis.shared.script('FLUSH');
      expect((await window.read(bucket, 2)).remaining).toBe(1);
    });

    it('adds up the cells when the sum was lost', async () => {
      await chargeTimes(3, 5);
      await redis.shared.del(total());
      expect((await window.read(bucket, 5)).remaining).toBe(2);
      expect(await redis.shared.get(total())).toBeNull();
    });
  });

  it('throws UnavailableError without Redis and recovers', async () => {
    await stores.redis.stop();
    await expect(window.charge(bucket, 2)).rejects.toBeInstanceOf(UnavailableError);
    await expect(window.read(bucket, 2)).rejects.toBeInstanceOf(UnavailableError);
    const back = new Promise<void>((resolve) => redis.shared.once('ready', () => resolve()));
    await stores.redis.start();
    await back;
    expect((await window.charge(bucket, 2)).allowed).toBe(true);
  });
});
