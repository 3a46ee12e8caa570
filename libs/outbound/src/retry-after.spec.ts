import { readRetryAfterMs } from './retry-after.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');

describe('readRetryAfterMs', () => {
  it.each<[string | string[] | undefined, number]>([
    ['7', 7_000],
    [' 0 ', 0],
    ['999999', 999_999_000],
    [['3', '9'], 3_000],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sunday, 01-Mar-26 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
  ])('reads %j as %p', (header, ms) => expect(readRetryAfterMs(header, NOW_MS)).toBe(ms));

  it.each([undefined, '', 'soon', '-5', '1.5', '1.5x', '2030-01-01', '12345678901'])('ignores %j', (header) =>
    expect(readRetryAfterMs(header, NOW_MS)).toBeNull(),
  );
});
