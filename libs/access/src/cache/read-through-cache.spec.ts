import { FixedClock, UnavailableError } from '@rmm/service-kit';
import { ReadThroughCache } from './read-through-cache.js';

interface Right {
  user: string;
  version: number;
}

/** A read that ends when the spec says so. */
class HeldReads {
  private readonly waiting: ((value: Right | null) => void)[] = [];
  started = 0;
  readonly read = (): Promise<Right | null> => {
    this.started += 1;
    return new Promise((resolve) => this.waiting.push(resolve));
  };
  answer(value: Right | null): Promise<void> {
    this.waiting.shift()?.(value);
    return new Promise((resolve) => setImmediate(resolve));
  }
}

const TTL_MS = 60_000;
const ofUser = (user: string) => (right: Right) => right.user === user;

let clock: FixedClock;
let cache: ReadThroughCache<Right>;
let reads: HeldReads;

beforeEach(() => {
  clock = new FixedClock();
  cache = new ReadThroughCache({ maxEntries: 3, ttlMs: TTL_MS, clock });
  reads = new HeldReads();
});

const fresh =
  (user: string, version = 1) =>
  () =>
    Promise.resolve<Right | null>({ user, version });

describe('a read-through cache', () => {
  it('reads once for all who miss together', async () => {
    const both = [cache.get('a', reads.read), cache.get('a', reads.read)];
    await reads.answer({ user: 'a', version: 1 });
    const [first, second] = await Promise.all(both);
    expect(reads.started).toBe(1);
    expect(first).toBe(second);
    expect(cache.peek('a')).toBe(first);
  });

  it('reads again once the entry is too old, counted from when its read began', async () => {
    const slow = cache.get('a', reads.read);
    clock.advance(TTL_MS - 1);
    await reads.answer({ user: 'a', version: 1 });
    await slow;
    expect(cache.peek('a')).toBeDefined();
    clock.advance(1);
    expect(cache.peek('a')).toBeUndefined();
  });

  it('never keeps what does not exist', async () => {
    expect(await cache.get('a', () => Promise.resolve(null))).toBeNull();
    expect(await cache.get('a', fresh('a'))).toEqual({ user: 'a', version: 1 });
  });

  it('keeps no failure, and tells all who waited', async () => {
    const failing = () => Promise.reject(new Error('down'));
    const both = [cache.get('a', failing), cache.get('a', failing)];
    await expect(Promise.allSettled(both)).resolves.toEqual([
      expect.objectContaining({ status: 'rejected' }),
      expect.objectContaining({ status: 'rejected' }),
    ]);
    expect(await cache.get('a', fresh('a'))).not.toBeNull();
  });

  it('forgets the entry unused for longest when it is full', async () => {
    for (const user of ['a', 'b', 'c']) await cache.get(user, fresh(user));
    cache.peek('a');
    await cache.get('d', fresh('d'));
    expect([cache.peek('a'), cache.peek('b')]).toEqual([{ user: 'a', version: 1 }, undefined]);
  });

  it('drops what an invalidation means and nothing else', async () => {
    await cache.get('a', fresh('a'));
    await cache.get('b', fresh('b'));
    cache.invalidate(ofUser('a'));
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, { user: 'b', version: 1 }]);
  });
});

describe('an invalidation that overtakes a read', () => {
  it('makes the read start again, and nobody is given the older value', async () => {
    const early = cache.get('a', reads.read);
    cache.invalidate(ofUser('a'));
    const late = cache.get('a', reads.read);
    await reads.answer({ user: 'a', version: 1 });
    expect(reads.started).toBe(2);
    expect(cache.peek('a')).toBeUndefined();
    await reads.answer({ user: 'a', version: 2 });
    expect(await early).toEqual({ user: 'a', version: 2 });
    expect(await late).toEqual({ user: 'a', version: 2 });
    expect(cache.peek('a')).toEqual({ user: 'a', version: 2 });
  });

  it('may come again while the second read is under way', async () => {
    const asked = cache.get('a', reads.read);
    cache.invalidate(ofUser('a'));
    await reads.answer({ user: 'a', version: 1 });
    cache.invalidate(ofUser('a'));
    await reads.answer({ user: 'a', version: 2 });
    await reads.answer({ user: 'a', version: 3 });
    expect(await asked).toEqual({ user: 'a', version: 3 });
    expect(reads.started).toBe(3);
  });

  it('of somebody else lets the read stand', async () => {
    const asked = cache.get('a', reads.read);
    cache.invalidate(ofUser('b'));
    await reads.answer({ user: 'a', version: 1 });
    expect(await asked).toEqual({ user: 'a', version: 1 });
    expect(reads.started).toBe(1);
  });

  it('counts as meant when the read found nothing: it may just have been made', async () => {
    const asked = cache.get('a', reads.read);
    cache.invalidate(ofUser('b'));
    await reads.answer(null);
    await reads.answer({ user: 'a', version: 1 });
    expect(await asked).toEqual({ user: 'a', version: 1 });
  });

  it('a flush overtakes every read', async () => {
    const asked = cache.get('a', reads.read);
    cache.flush();
    await reads.answer({ user: 'a', version: 1 });
    await reads.answer({ user: 'a', version: 2 });
    expect(await asked).toEqual({ user: 'a', version: 2 });
  });

  it('time after time ends in 503 rather than in a value nobody can vouch for', async () => {
    const read = () => {
      cache.flush();
      return Promise.resolve({ user: 'a', version: 1 });
    };
    await expect(cache.get('a', read)).rejects.toBeInstanceOf(UnavailableError);
    expect(cache.size).toBe(0);
  });
});
