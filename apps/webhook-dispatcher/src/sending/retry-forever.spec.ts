import { retryForever } from './retry-forever.js';

describe('retryForever', () => {
  it('repeats what fails, with any error, until it succeeds', async () => {
    const errors: unknown[] = [];
    let left = 2;
    const work = () => (left-- > 0 ? Promise.reject(new TypeError('broken')) : Promise.resolve('done'));
    await expect(retryForever(work, (error) => errors.push(error))).resolves.toBe('done');
    expect(errors).toHaveLength(2);
  });

  it('ends with the error that its caller throws', async () => {
    const ending = retryForever(
      () => Promise.reject(new Error('down')),
      () => {
        throw new Error('stopped');
      },
    );
    await expect(ending).rejects.toThrow('stopped');
  });
});
