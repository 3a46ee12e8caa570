import { ValidationError } from '@rmm/service-kit';
import { MAX_KEYS_AT_ONCE, readCustomFieldPatch } from './custom-field-patch.dto.js';

/** The names a refusal gives; null when it was none. */
function namedIn(body: unknown): string[] | null {
  try {
    readCustomFieldPatch(body);
    return null;
  } catch (error) {
    if (error instanceof ValidationError) return Object.keys(error.fieldErrors ?? {});
    throw error;
  }
}

const mapOf = (size: number) => Object.fromEntries(Array.from({ length: size }, (_, n) => [`field ${n}`, n]));

describe('readCustomFieldPatch', () => {
  it('sets texts, numbers and flags and removes null fields', () => {
    expect(readCustomFieldPatch({ rack: 'B12', height: -1.5, spare: false, note: '', old: null })).toEqual({
      set: { rack: 'B12', height: -1.5, spare: false, note: '' },
      remove: ['old'],
      keys: ['rack', 'height', 'spare', 'note', 'old'],
    });
  });

  it.each([
    ['an object', { a: { b: 1 } }],
    ['a list', { a: [] }],
    ['a text that is too long', { a: 'x'.repeat(10_001) }],
    ['a text no column can hold', { a: 'nul \u0000' }],
    ['half of a character', { a: '\ud800' }],
    ['a number without end', JSON.parse('{"a":1e999}')],
  ])('refuses %s with its name', (_, body) => {
    expect(namedIn({ good: 1, ...(body as object) })).toEqual(['a']);
  });

  it('accepts a text of 10,000 and a name of 100 characters at most', () => {
    expect(namedIn({ ['n'.repeat(100)]: 'x'.repeat(10_000) })).toBeNull();
    expect(namedIn({ ['n'.repeat(101)]: 1 })).toEqual(['n'.repeat(100)]);
    expect(namedIn({ '': 1 })).toEqual(['body']);
    expect(namedIn({ 'line\nbreak': 1 })).toEqual(['line\nbreak']);
  });

  it('refuses __proto__ and accepts other names of Object.prototype', () => {
    expect(namedIn(JSON.parse('{"__proto__":"x"}'))).toEqual(['__proto__']);
    expect(namedIn(JSON.parse('{"__proto__":{"isAdmin":true}}'))).toEqual(['__proto__']);
    const { set, remove } = readCustomFieldPatch({ constructor: 'a', toString: 1, hasOwnProperty: null });
    expect([Object.entries(set), remove]).toEqual([
      [
        ['constructor', 'a'],
        ['toString', 1],
      ],
      ['hasOwnProperty'],
    ]);
  });

  it.each([undefined, null, [], 'text', 1, true])('refuses the body %p', (body) => {
    expect(namedIn(body)).toEqual(['body']);
  });

  it('requires at least one field and at most those of one audit entry', () => {
    expect(namedIn({})).toEqual(['body']);
    expect(namedIn(mapOf(MAX_KEYS_AT_ONCE))).toBeNull();
    expect(namedIn(mapOf(MAX_KEYS_AT_ONCE + 1))).toEqual(['body']);
  });
});
