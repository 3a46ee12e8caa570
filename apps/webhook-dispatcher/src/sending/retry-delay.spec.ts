import { DEFAULT_RETRY_POLICY, readRetryPolicy, retryDelayMs } from './retry-delay.js';

describe('retryDelayMs', () => {
  it('waits 1, 2, 4, 8 and 16 seconds, then no more', () => {
    expect([0, 1, 2, 3, 4, 5].map((retry) => retryDelayMs(DEFAULT_RETRY_POLICY, retry))).toEqual([
      1_000,
      2_000,
      4_000,
      8_000,
      16_000,
      null,
    ]);
  });

  it('stops growing at the longest delay', () => {
    const policy = { maxRetries: 99, initialDelayMs: 1_000, backoffMultiplier: 10, maxDelayMs: 5_000 };
    expect(retryDelayMs(policy, 1)).toBe(5_000);
    expect(retryDelayMs(policy, 98)).toBe(5_000);
  });

  it('knows policies without any retry', () => {
    expect(retryDelayMs({ ...DEFAULT_RETRY_POLICY, maxRetries: 0 }, 0)).toBeNull();
  });
});

describe('readRetryPolicy', () => {
  it('takes the default where nothing is stored', () => {
    expect(readRetryPolicy(null)).toEqual(DEFAULT_RETRY_POLICY);
  });

  it('takes what makes sense and the default for the rest', () => {
    expect(readRetryPolicy({ maxRetries: 1.9, initialDelayMs: 5, backoffMultiplier: 'x', maxDelayMs: -1 })).toEqual({
      maxRetries: 1,
      initialDelayMs: 5,
      backoffMultiplier: 2,
      maxDelayMs: 300_000,
    });
  });
});
