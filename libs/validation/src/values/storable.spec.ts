import { isStorableJson, isStorableText } from './storable.js';

const nested = (depth: number) => JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth)) as unknown;

describe('isStorableText and isStorableJson', () => {
  it.each(['', 'plain', 'two\nlines', '日本', '😀 whole pair'])('accept %j', (text) => {
    expect(isStorableText(text)).toBe(true);
    expect(isStorableJson({ [text]: [text] })).toBe(true);
  });

  it.each(['a\u0000b', '\ud800', 'a\udc00b', '\ud83d'])('refuse %j as value and as name', (text) => {
    expect(isStorableText(text)).toBe(false);
    expect(isStorableJson({ list: [{ deep: text }] })).toBe(false);
    expect(isStorableJson({ list: [{ [text]: 1 }] })).toBe(false);
  });

  it('refuse a number that JSON cannot represent', () => {
    expect(isStorableJson(JSON.parse('{"a":1e400}'))).toBe(false);
    expect(isStorableJson({ a: -1.5e300, b: null, c: true })).toBe(true);
  });

  it('refuse deep nesting', () => {
    expect(isStorableJson(nested(64))).toBe(true);
    expect(isStorableJson(nested(65))).toBe(false);
    expect(isStorableJson(nested(10_000))).toBe(false);
  });
});
