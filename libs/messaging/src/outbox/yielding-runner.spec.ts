import { setImmediate as nextIteration } from 'node:timers/promises';
import { YieldingRunner } from './yielding-runner.js';

const work = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

describe('YieldingRunner', () => {
  afterEach(() => jest.restoreAllMocks());

  it('lets other work run between tasks that take longer than a part of an iteration, in order', async () => {
    const runner = new YieldingRunner();
    const order: (number | string)[] = [];
    const task = (n: number) =>
      runner.run(() => {
        order.push(n);
        work(3);
      });
    const others = (async () => {
      while (!order.includes(2)) {
        await nextIteration();
        order.push('other');
      }
    })();
    await Promise.all([others, task(0), task(1), task(2)]);
    expect(order.filter((each) => each !== 'other')).toEqual([0, 1, 2]);
    expect(order.indexOf('other')).toBeLessThan(order.indexOf(1));
    expect(order.slice(order.indexOf(1), order.indexOf(2))).toContain('other');
  });

  it('does not wait while there is time in the iteration', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(0);
    const runner = new YieldingRunner();
    let hasEnded = false;
    setImmediate(() => (hasEnded = true));
    for (let n = 0; n < 10; n += 1) expect(await runner.run(() => n)).toBe(n);
    expect(hasEnded).toBe(false);
  });

  it('throws what the work throws', async () => {
    const runner = new YieldingRunner();
    const fail = (): never => {
      throw new RangeError('one');
    };
    await expect(runner.run(fail)).rejects.toThrow(RangeError);
    await expect(runner.run(() => Promise.reject(new RangeError('two')))).rejects.toThrow('two');
  });
});
