import { retryAfterOf } from './api-error.js';

describe('retryAfterOf', () => {
  const read = (value?: string) =>
    retryAfterOf(new Headers(value === undefined ? {} : { 'retry-after': value }), 1_000);

  it.each([
    ['0', 0],
    ['120', 120],
    [' 5 ', 5],
    ['Thu, 01 Jan 1970 00:00:11 GMT', 10],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('reads %j as %i seconds', (text, seconds) => {
    expect(read(text)).toBe(seconds);
  });

  it.each([undefined, '', 'soon', '-5s'])('does not read %j', (text) => {
    expect(read(text)).toBeUndefined();
  });
});
