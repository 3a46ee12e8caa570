import { canonicalJson } from './canonical-json.js';

describe('canonicalJson', () => {
  it('sorts keys at every depth, keeps the order of lists and leaves undefined out', () => {
    expect(canonicalJson({ b: [{ z: 1, a: null }, 2], a: 'é"', c: undefined })).toBe(
      '{"a":"é\\"","b":[{"a":null,"z":1},2]}',
    );
  });

  it('gives the same text whatever the order of keys', () => {
    expect(canonicalJson({ a: 1, b: { d: null, c: 'x' } })).toBe(canonicalJson({ b: { c: 'x', d: null }, a: 1 }));
  });

  it.each([2, 24, 25, 200])('sorts %i names', (count) => {
    const names = Array.from({ length: count }, (_, n) => `n${(n * 7_919) % 1_000}`);
    const sorted = [...new Set(names)].sort().map((name) => `"${name}":0`);
    expect(canonicalJson(Object.fromEntries(names.map((name) => [name, 0])))).toBe(`{${sorted.join(',')}}`);
  });

  it('sorts names as texts that an object orders as numbers, and keeps a name that an object does not take', () => {
    const value: unknown = JSON.parse('{"b":{"9":1,"10":[{"2":0,"1":0}],"-1":2},"__proto__":{"z":1,"a":2}}');
    expect(canonicalJson(value)).toBe('{"__proto__":{"a":2,"z":1},"b":{"-1":2,"10":[{"1":0,"2":0}],"9":1}}');
  });
});
