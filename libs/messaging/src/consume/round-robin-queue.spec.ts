import { RoundRobinQueue, type WaitingItem } from './round-robin-queue.js';

const WIDE = { total: 1e12, shared: 1e12 };
const LARGE = 240_000;

interface Item extends WaitingItem {
  readonly n: number;
}

const fill = (queue: RoundRobinQueue<Item>, key: string, count: number, bytes: number) => {
  for (let n = 0; n < count; n += 1) queue.add({ key, bytes, n });
};
const takeAll = (queue: RoundRobinQueue<Item>, limit = Infinity) => {
  const taken: Item[] = [];
  for (let item = queue.takeNext(); item && taken.length < limit; item = queue.takeNext()) taken.push(item);
  return taken;
};
const bytesOf = (taken: readonly Item[], wanted: string) =>
  taken.filter(({ key }) => key === wanted).reduce((sum, { bytes }) => sum + bytes, 0);

describe('RoundRobinQueue', () => {
  it('gives each key as many bytes, whatever the size of its items', () => {
    const queue = new RoundRobinQueue<Item>(WIDE);
    fill(queue, 'large', 400, LARGE);
    fill(queue, 'medium', 4_000, 24_000);
    fill(queue, 'small', 100_000, 1_000);
    const taken = takeAll(queue, 30_000);
    const each = ['large', 'medium', 'small'].map((key) => bytesOf(taken, key));
    expect(Math.max(...each) - Math.min(...each)).toBeLessThanOrEqual(2 * LARGE);
    expect(Math.min(...each)).toBeGreaterThan(20 * LARGE);
  });

  it('takes a small item before the large ones of eight other keys that were added earlier', () => {
    const queue = new RoundRobinQueue<Item>(WIDE);
    for (let key = 0; key < 8; key += 1) fill(queue, `large-${key}`, 500, LARGE);
    fill(queue, 'quiet', 1, 1_000);
    expect(queue.takeNext()?.key).toBe('quiet');
  });

  it('keeps the order of the items of a key, also of thousands', () => {
    const queue = new RoundRobinQueue<Item>(WIDE);
    fill(queue, 'a', 5_000, 100);
    const order = takeAll(queue, 2_500).map(({ n }) => n);
    for (let n = 5_000; n < 6_000; n += 1) queue.add({ key: 'a', bytes: 100, n });
    order.push(...takeAll(queue).map(({ n }) => n));
    // One more than the limit was taken.
    expect(order).toEqual(Array.from({ length: 6_000 }, (_, n) => n).filter((n) => n !== 2_500));
  });

  it('lets each key hold its share, and one without anything in hand one item', () => {
    const queue = new RoundRobinQueue<Item>({ total: 10_000_000, shared: 1_000_000 });
    fill(queue, 'a', 10, LARGE);
    expect(takeAll(queue)).toHaveLength(4);
    fill(queue, 'b', 10, LARGE);
    fill(queue, 'c', 10, 300_000);
    // Three keys share what one had for itself.
    expect(takeAll(queue).map(({ key }) => key)).toEqual(['b', 'c']);
    expect(queue.bytes).toBe(5 * LARGE + 300_000);
  });

  it('continues with a key when what it holds is released', () => {
    const queue = new RoundRobinQueue<Item>({ total: 10_000_000, shared: 500_000 });
    fill(queue, 'a', 5, LARGE);
    const [first] = takeAll(queue);
    expect(queue.takeNext()).toBeUndefined();
    queue.release(first);
    expect(queue.takeNext()?.n).toBe(2);
    expect(queue.takeNext()).toBeUndefined();
  });

  it('takes nothing while all keys together hold the total', () => {
    const queue = new RoundRobinQueue<Item>({ total: 3 * LARGE, shared: 1 });
    for (const key of ['a', 'b', 'c', 'd']) fill(queue, key, 1, LARGE);
    const taken = takeAll(queue);
    expect(taken).toHaveLength(3);
    queue.release(taken[0]);
    expect(queue.takeNext()?.key).toBe('d');
  });

  it('removes what waits of some keys, blocked ones included', () => {
    const queue = new RoundRobinQueue<Item>({ total: 1e9, shared: LARGE });
    fill(queue, 'a', 3, LARGE);
    queue.takeNext();
    expect(queue.takeNext()).toBeUndefined();
    fill(queue, 'b', 2, LARGE);
    expect(
      queue
        .remove(() => true)
        .map(({ key, n }) => `${key}${n}`)
        .sort(),
    ).toEqual(['a1', 'a2', 'b0', 'b1']);
    expect(queue.takeNext()).toBeUndefined();
  });
});
