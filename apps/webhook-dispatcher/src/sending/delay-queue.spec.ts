import { DelayQueue } from './delay-queue.js';

describe('DelayQueue', () => {
  let due: string[];
  let queue: DelayQueue<string>;

  beforeEach(() => {
    jest.useFakeTimers();
    due = [];
    queue = new DelayQueue((items) => due.push(...items));
    queue.start();
  });

  afterEach(() => {
    queue.stop();
    jest.useRealTimers();
  });

  it('releases items after their delay, in the order of their times', () => {
    queue.add('late', 1_000);
    queue.add('early', 100);
    jest.advanceTimersByTime(90);
    expect(due).toEqual([]);
    jest.advanceTimersByTime(70);
    expect(due).toEqual(['early']);
    jest.advanceTimersByTime(900);
    expect([due, queue.size]).toEqual([['early', 'late'], 0]);
  });

  it('releases an item without a delay at the next tick', () => {
    queue.add('now', 0);
    jest.advanceTimersByTime(100);
    expect(due).toEqual(['now']);
  });

  it('returns the items that are taken and releases the others', () => {
    queue.add('a', 100);
    queue.add('b', 100);
    expect(queue.takeItems((item) => item === 'a')).toEqual(['a']);
    jest.advanceTimersByTime(200);
    expect([due, queue.size]).toEqual([['b'], 0]);
  });
});
