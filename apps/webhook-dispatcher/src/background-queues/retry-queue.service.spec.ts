import { groupIntoChunks } from './retry-queue.service.js';

const AT = new Date('2026-03-01T12:00:00.000Z');
const due = (id: string, delayMs: number) => ({ id, createdAt: AT, delayMs });

describe('groupIntoChunks', () => {
  it('puts what falls due together into one job, as late as its latest', () => {
    expect(groupIntoChunks([due('a', 1_000), due('b', 2_000), due('c', 950)])).toEqual([
      {
        delayMs: 1_000,
        keys: [
          ['a', AT.toISOString()],
          ['c', AT.toISOString()],
        ],
      },
      { delayMs: 2_000, keys: [['b', AT.toISOString()]] },
    ]);
  });

  it('makes no job larger than 150', () => {
    const many = Array.from({ length: 301 }, (_, i) => due(`${i}`, 1_000));
    expect(groupIntoChunks(many).map(({ keys }) => keys.length)).toEqual([150, 150, 1]);
  });

  it('makes none of nothing', () => expect(groupIntoChunks([])).toEqual([]));
});
