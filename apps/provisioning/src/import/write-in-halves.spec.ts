import { ConflictError } from '@rmm/service-kit';
import { writeInHalves } from './write-in-halves.js';

describe('writeInHalves', () => {
  const tx = { savepoint: (work: () => Promise<unknown>) => work() } as never;

  async function writeAll(items: number[], poison: readonly number[], error: Error = new Error('check violated')) {
    const attempts: number[] = [];
    const result = await writeInHalves(tx, items, {
      write: (written) => {
        attempts.push(written.length);
        return written.some((item) => poison.includes(item)) ? Promise.reject(error) : Promise.resolve();
      },
      refuse: (item) => Promise.resolve(-item),
      onFailure: () => undefined,
    });
    return { result, attempts };
  }

  it('writes all items at once when none fails', async () => {
    expect(await writeAll([1, 2, 3], [])).toEqual({ result: [1, 2, 3], attempts: [3] });
  });

  it('refuses the items that cannot be written, in the order of all', async () => {
    const { result } = await writeAll([1, 2, 3, 4, 5], [2, 5]);
    expect(result).toEqual([1, -2, 3, 4, -5]);
  });

  it('finds one of a thousand in about twenty attempts', async () => {
    const items = Array.from({ length: 1_000 }, (_, index) => index + 1);
    const { result, attempts } = await writeAll(items, [700]);
    expect(result.filter((item) => item < 0)).toEqual([-700]);
    expect(attempts.length).toBeLessThan(25);
  });

  it('passes on an error for the caller', async () => {
    await expect(writeAll([1, 2], [2], new ConflictError())).rejects.toThrow(ConflictError);
  });
});
