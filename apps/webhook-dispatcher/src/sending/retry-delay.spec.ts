import { DEFAULT_RETRY_POLICY, readRetryPolicy, requestedPauseMs, retryDelayMs } from './retry-delay.js';

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

  it('leaves out retries later than seven days after the event', () => {
    const day = 86_400_000;
    const stored = { maxRetries: 100, initialDelayMs: day, backoffMultiplier: 1, maxDelayMs: day };
    expect(readRetryPolicy(stored).maxRetries).toBe(6);
    expect(readRetryPolicy({ ...stored, initialDelayMs: 3_600_000, backoffMultiplier: 2 }).maxRetries).toBe(10);
    expect(readRetryPolicy({ ...stored, initialDelayMs: 1_000, maxDelayMs: 60_000 }).maxRetries).toBe(100);
  });
});

const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const ask = (header: string | string[] | undefined, status = 503) => requestedPauseMs(status, header, NOW_MS, 3_600);

describe('requestedPauseMs', () => {
  it.each([429, 503])('reads seconds on %d', (status) => expect(ask('7', status)).toBe(7_000));
  it.each([200, 500, 502])('ignores it on %d', (status) => expect(ask('7', status)).toBeNull());

  it('reads a date', () => expect(ask('Sun, 01 Mar 2026 12:00:30 GMT')).toBe(30_000));
  it('takes a date in the past for now', () => expect(ask('Sun, 01 Mar 2026 11:00:00 GMT')).toBe(0));
  it('is capped', () => {
    expect(ask('999999')).toBe(3_600_000);
    expect(ask('Mon, 01 Mar 2027 12:00:00 GMT')).toBe(3_600_000);
  });
  it.each([undefined, '', 'soon', '-5', '1.5x'])('ignores %p', (header) => expect(ask(header)).toBeNull());
  it('takes the first of several', () => expect(ask(['3', '9'])).toBe(3_000));
});
