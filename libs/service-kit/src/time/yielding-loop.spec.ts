import { forEachYielding, mapYielding } from './yielding-loop.js';

const work = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

describe('forEachYielding', () => {
  afterEach(() => jest.restoreAllMocks());

  it('calls the work for each item in order and lets other work run in between', async () => {
    const order: (number | string)[] = [];
    setImmediate(() => order.push('other'));
    await forEachYielding([0, 1, 2, 3], (item, index) => {
      expect(item).toBe(index);
      order.push(item);
      work(3);
    });
    expect(order.filter((each) => each !== 'other')).toEqual([0, 1, 2, 3]);
    expect(order.indexOf('other')).toBeLessThan(3);
  });

  it('does not wait for a short list', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(0);
    let hasRun = false;
    setImmediate(() => (hasRun = true));
    expect(await mapYielding([1, 2], (item) => item * 2)).toEqual([2, 4]);
    expect(hasRun).toBe(false);
  });

  it('throws what the work throws', async () => {
    await expect(
      forEachYielding([1], () => {
        throw new RangeError('one');
      }),
    ).rejects.toThrow(RangeError);
  });
});
