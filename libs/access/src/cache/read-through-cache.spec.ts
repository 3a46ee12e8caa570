import { currentContext, RequestDeadline, runInContext, UnavailableError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { ReadThroughCache } from './read-through-cache.js';

interface Right {
  user: string;
  version: number;
}

/** Reads that the spec resolves one by one. */
class DeferredReads {
  private readonly waiting: ((value: Right | null) => void)[] = [];
  started = 0;
  readonly read = (): Promise<Right | null> => {
    this.started += 1;
    return new Promise((resolve) => this.waiting.push(resolve));
  };
  resolve(value: Right | null): Promise<void> {
    this.waiting.shift()?.(value);
    return new Promise((resolve) => setImmediate(resolve));
  }
}

const TTL_MS = 60_000;
const ofUser = (user: string) => [`user:${user}`];
const tagsOf = (right: Right | null, key: string) => ofUser(right?.user ?? key);

let clock: FixedClock;
let cache: ReadThroughCache<Right>;
let reads: DeferredReads;

beforeEach(() => {
  clock = new FixedClock();
  cache = new ReadThroughCache({ maxEntries: 3, ttlMs: TTL_MS, clock }, tagsOf);
  reads = new DeferredReads();
});

const fresh =
  (user: string, version = 1) =>
  () =>
    Promise.resolve<Right | null>({ user, version });

describe('ReadThroughCache', () => {
  it('reads once for callers that miss together', async () => {
    const both = [cache.get('a', reads.read), cache.get('a', reads.read)];
    await reads.resolve({ user: 'a', version: 1 });
    const [first, second] = await Promise.all(both);
    expect(reads.started).toBe(1);
    expect(first).toBe(second);
    expect(cache.peek('a')).toBe(first);
  });

  it('reads in the context of the first caller but for its time limit, which is not that of others', async () => {
    const context = { requestId: 'r-1', ipAddress: '192.0.2.1', deadline: new RequestDeadline(1) };
    let seen: unknown;
    const read = () => {
      seen = currentContext();
      return fresh('a')();
    };
    await runInContext(context, () => cache.get('a', read));
    expect(seen).toEqual({ ...context, deadline: undefined });
  });

  it('reads again when the entry has expired, counted from the start of its read', async () => {
    const slow = cache.get('a', reads.read);
    clock.advance(TTL_MS - 1);
    await reads.resolve({ user: 'a', version: 1 });
    await slow;
    expect(cache.peek('a')).toBeDefined();
    clock.advance(1);
    expect(cache.peek('a')).toBeUndefined();
  });

  it('does not cache a missing value', async () => {
    expect(await cache.get('a', () => Promise.resolve(null))).toBeNull();
    expect(await cache.get('a', fresh('a'))).toEqual({ user: 'a', version: 1 });
  });

  it('does not cache a failure and rejects every waiting caller', async () => {
    const failing = () => Promise.reject(new Error('down'));
    const both = [cache.get('a', failing), cache.get('a', failing)];
    await expect(Promise.allSettled(both)).resolves.toEqual([
      expect.objectContaining({ status: 'rejected' }),
      expect.objectContaining({ status: 'rejected' }),
    ]);
    expect(await cache.get('a', fresh('a'))).not.toBeNull();
  });

  it('evicts the least recently used entry when it is full', async () => {
    for (const user of ['a', 'b', 'c']) await cache.get(user, fresh(user));
    cache.peek('a');
    await cache.get('d', fresh('d'));
    expect([cache.peek('a'), cache.peek('b')]).toEqual([{ user: 'a', version: 1 }, undefined]);
  });

  it('drops only the values an invalidation matches', async () => {
    await cache.get('a', fresh('a'));
    await cache.get('b', fresh('b'));
    cache.invalidate(ofUser('a'));
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, { user: 'b', version: 1 }]);
  });
});

describe('invalidation by tag', () => {
  it('drops the values of the tag that match, and keeps the others of the tag', async () => {
    cache = new ReadThroughCache({ maxEntries: 10, ttlMs: TTL_MS, clock }, () => ['partner:p']);
    await cache.get('a', fresh('a', 1));
    await cache.get('b', fresh('b', 2));
    cache.invalidate(['partner:p', 'partner:q'], ({ version }) => version === 1);
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, { user: 'b', version: 2 }]);
  });

  it('checks no value without the tag', async () => {
    const checked: string[] = [];
    cache = new ReadThroughCache({ maxEntries: 5_000, ttlMs: TTL_MS, clock }, tagsOf);
    for (let i = 0; i < 1_000; i++) await cache.get(`key-${i}`, fresh(`user-${i}`));
    cache.invalidate(ofUser('user-7'), ({ user }) => checked.push(user) > 0);
    expect(checked).toEqual(['user-7']);
    expect(cache.size).toBe(999);
  });

  it('finds no value that was evicted or replaced', async () => {
    for (const user of ['a', 'b', 'c', 'd']) await cache.get(user, fresh(user));
    clock.advance(TTL_MS);
    await cache.get('b', fresh('other'));
    const checked: string[] = [];
    for (const user of ['a', 'b']) cache.invalidate(ofUser(user), (right) => checked.push(right.user) > 0);
    expect(checked).toEqual([]);
    expect(cache.peek('b')).toEqual({ user: 'other', version: 1 });
  });

  it('keeps expired values expired when the time of day is set back', async () => {
    await cache.get('a', fresh('a'));
    clock.advance(TTL_MS);
    clock.set('2020-01-01T00:00:00Z');
    expect(cache.peek('a')).toBeUndefined();
  });
});

describe('an invalidation during a read', () => {
  it('repeats the read and returns the older value to no caller', async () => {
    const early = cache.get('a', reads.read);
    cache.invalidate(ofUser('a'));
    const late = cache.get('a', reads.read);
    await reads.resolve({ user: 'a', version: 1 });
    expect(reads.started).toBe(2);
    expect(cache.peek('a')).toBeUndefined();
    await reads.resolve({ user: 'a', version: 2 });
    expect(await early).toEqual({ user: 'a', version: 2 });
    expect(await late).toEqual({ user: 'a', version: 2 });
    expect(cache.peek('a')).toEqual({ user: 'a', version: 2 });
  });

  it('repeats the read again when another one arrives during the second attempt', async () => {
    const asked = cache.get('a', reads.read);
    cache.invalidate(ofUser('a'));
    await reads.resolve({ user: 'a', version: 1 });
    cache.invalidate(ofUser('a'));
    await reads.resolve({ user: 'a', version: 2 });
    await reads.resolve({ user: 'a', version: 3 });
    expect(await asked).toEqual({ user: 'a', version: 3 });
    expect(reads.started).toBe(3);
  });

  it.each([0, 1, 2, 3, 4, 5])('drops the value when it arrives %i microtasks after the read ended', async (ticks) => {
    let reads = 0;
    let end: () => void = () => undefined;
    const read = (): Promise<Right> => {
      reads += 1;
      const right = { user: 'a', version: reads };
      return reads === 1 ? new Promise((resolve) => (end = () => resolve(right))) : Promise.resolve(right);
    };
    const asked = cache.get('a', read);
    end();
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    cache.invalidate(ofUser('a'));
    await asked;
    expect(cache.peek('a')?.version).not.toBe(1);
  });

  it('keeps the value when it matches another one', async () => {
    const asked = cache.get('a', reads.read);
    cache.invalidate(ofUser('b'));
    await reads.resolve({ user: 'a', version: 1 });
    expect(await asked).toEqual({ user: 'a', version: 1 });
    expect(reads.started).toBe(1);
  });

  it.each([
    ['repeats a read that found nothing when it names its key', 'a', 2],
    ['does not repeat a read that found nothing when it names another key', 'b', 1],
  ])('%s', async (_, user, expected) => {
    const asked = cache.get('a', reads.read);
    cache.invalidate(ofUser(user));
    await reads.resolve(null);
    if (expected === 2) await reads.resolve({ user: 'a', version: 1 });
    expect(await asked).toEqual(expected === 2 ? { user: 'a', version: 1 } : null);
    expect(reads.started).toBe(expected);
  });

  it('repeats every read when it is a flush', async () => {
    const asked = cache.get('a', reads.read);
    cache.flush();
    await reads.resolve({ user: 'a', version: 1 });
    await reads.resolve({ user: 'a', version: 2 });
    expect(await asked).toEqual({ user: 'a', version: 2 });
  });

  it('throws UnavailableError when it overtakes every attempt', async () => {
    const read = () => {
      cache.flush();
      return Promise.resolve({ user: 'a', version: 1 });
    };
    await expect(cache.get('a', read)).rejects.toBeInstanceOf(UnavailableError);
    expect(cache.size).toBe(0);
  });
});
