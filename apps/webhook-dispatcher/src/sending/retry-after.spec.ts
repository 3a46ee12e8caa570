import { retryAfterMs } from './retry-after.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const ask = (header: string | string[] | undefined, status = 503) => retryAfterMs(status, header, NOW_MS, 3_600);

describe('retryAfterMs', () => {
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
