import { matchesEntityTag } from './entity-tag.js';

describe('matchesEntityTag', () => {
  it.each([
    ['"a"', '"a"'],
    ['W/"a"', '"a"'],
    ['"a"', 'W/"a"'],
    ['"x", W/"a" ,"y"', 'W/"a"'],
    ['*', 'W/"a"'],
    [' * ', '"a"'],
  ])('is true for %s and %s', (header, tag) => {
    expect(matchesEntityTag(header, tag)).toBe(true);
  });

  it.each([
    [undefined, '"a"'],
    ['', '"a"'],
    ['"b"', '"a"'],
    ['a', '"a"'],
    ['"A"', '"a"'],
    ['"*"', '"a"'],
    ['w/"a"', '"a"'],
  ])('is false for %s and %s', (header, tag) => {
    expect(matchesEntityTag(header, tag)).toBe(false);
  });
});
