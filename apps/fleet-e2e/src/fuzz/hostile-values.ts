import type { Random } from './random.js';

/** JSON text of a value that takes the place of a valid one. Texts, since not all of them survive JSON.stringify. */
export type HostileValue = (random: Random) => string;

/** Levels of nesting; from 5,000 on, recursive code overflows the stack. */
const DEPTHS = [1, 2, 33, 65, 1_600, 5_000, 20_000, 100_000];

const text = (value: string) => JSON.stringify(value);
const nested = (open: string, close: string, inner: string): HostileValue => {
  return (random) => {
    const depth = random.pick(DEPTHS);
    return open.repeat(depth) + inner + close.repeat(depth);
  };
};
const oneOf =
  (...values: readonly string[]): HostileValue =>
  (random) =>
    random.pick(values);

/** Values for any field of a body. */
export const HOSTILE_VALUES: Record<string, HostileValue> = {
  'wrong type': oneOf('null', 'true', 'false', '0', '1', '""', '[]', '{}', '[[]]', '[null]', '{"a":1}', '[{}]'),
  'nested arrays': nested('[', ']', ''),
  'nested objects': nested('{"a":', '}', '1'),
  'nested arrays of objects': nested('[{"a":', '}]', '1'),
  'extreme number': oneOf('1e400', '-1e400', '1e308', '9007199254740993', '-1', '0.1', '-0', '2147483648', '1e-400'),
  'extreme date': oneOf(
    text('0000-01-01T00:00:00Z'),
    text('0000-12-31T23:59:59-23:59'),
    text('0001-01-01T00:00:00+14:00'),
    text('9999-12-31T23:59:59-14:00'),
    text('+275760-09-13T00:00:00Z'),
    text('275760-09-13T00:00:00.000Z'),
    text('-000001-01-01T00:00:00Z'),
    text('2026-02-30T00:00:00Z'),
    text('2026-01-01'),
  ),
  'unstorable text': oneOf(
    text('a\u0000b'),
    '"\\ud800"',
    '"\\udc00a"',
    '"a\\ud83d"',
    text('\u0000'),
    '"\\u0000\\ud800"',
  ),
  'text that grows when normalized': (random) =>
    text(random.pick(['\u0958', '\u{1d160}', '\ufb2c', '\u0390']).repeat(random.pick([63, 85, 100, 127, 255]))),
  'invisible text': oneOf(
    text('\u200b'),
    text('\ufeff'),
    text('\u202eevil\u202c'),
    text('\u2066a\u2069'),
    text('\u200d'.repeat(30)),
    text('\u00ad'),
    text(' \t\n '),
    text('\u0085'),
    text('e\u0301'.repeat(200)),
  ),
  'long text': (random) =>
    text(random.pick(['x', '%', '\\', '"', "'", 'é', '😀']).repeat(random.pick([256, 4_097, 70_000, 200_000]))),
  'text for another parser': oneOf(
    text("' OR 1=1 --"),
    text('{{7*7}}'),
    text('${jndi:ldap://127.0.0.1}'),
    text('../../../../etc/passwd'),
    text('%00'),
    text('%'),
    text('_\\'),
    text('a,b'),
    text('{"a":1}'),
    text('{'),
    text('\\'),
    text('*:*'),
    text('NaN'),
    text('Infinity'),
    text('javascript:alert(1)'),
    text('http://[::1'),
    text('http://user:pw@127.0.0.1:99999/'),
    text('xn--a@xn--a.test'),
    text('::ffff:10.0.0.1/129'),
    text('0x7f.1/8'),
  ),
  'prototype key': oneOf(
    '{"__proto__":{"isAdmin":true}}',
    '{"constructor":{"prototype":{"isAdmin":true}}}',
    text('__proto__'),
    text('constructor'),
    text('toString'),
    '{"toString":null,"valueOf":null}',
    '{"length":-1}',
    '{"then":1}',
    '["__proto__"]',
    '{"toJSON":"x"}',
  ),
  'malformed id': oneOf(
    text('not-a-uuid'),
    text('00000000-0000-0000-0000-000000000000'),
    text('ffffffff-ffff-ffff-ffff-ffffffffffff'),
    text('{00000000-0000-4000-8000-000000000000}'),
    text('00000000000040008000000000000000'),
    text('00000000-0000-4000-8000-00000000000０'),
  ),
  'long list': (random) =>
    `[${Array.from({ length: random.pick([51, 1_001, 5_000]) }, () => random.pick(['1', '"a"', 'null'])).join()}]`,
  'large object': (random) =>
    `{${Array.from({ length: random.pick([201, 3_000]) }, (_, i) => `"k${i}":${random.pick(['1', '"v"', '[]'])}`).join()}}`,
};

/** Texts for query parameters and path segments, percent-encoded. */
export const HOSTILE_SEGMENTS: readonly string[] = [
  'not-a-uuid',
  '%00',
  '%ff%fe',
  '%zz',
  '%',
  '%2',
  '%C0%AF',
  '%ED%A0%80',
  '%E0%A5%98'.repeat(85),
  '..%2f..%2f',
  '%2e%2e',
  '%20',
  '%0a',
  '__proto__',
  'constructor',
  '-1',
  '0',
  '1e3',
  '99999999999999999999',
  'NaN',
  'null',
  'true',
  '[]',
  '%5B%5D',
  '{}',
  "'",
  '%25',
  '_',
  '%5C',
  'a,b,,',
  ',',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-14:00',
  '275760-09-13T00:00:00Z',
  '%E2%80%AE',
  'x'.repeat(300),
  'x'.repeat(5_000),
  'eyJhIjoxfQ.AAAA',
  'A'.repeat(10_000),
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFF',
];

export const HOSTILE_CONTENT_TYPES: readonly string[] = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/json; charset=utf-8',
  'application/merge-patch+json',
  'application/JSON',
  'application/json;',
  'application/json, text/plain',
  'image/png',
  ';',
  '*/*',
];

/** Bodies that are no JSON, or no object. */
export const HOSTILE_BODIES: readonly string[] = [
  '',
  ' ',
  'null',
  'true',
  '1',
  '""',
  '[]',
  '[{}]',
  '{',
  '{"a":',
  '{"a":1}}',
  '{a:1}',
  "{'a':1}",
  '{"a":1,}',
  '\ufeff{}',
  '\u0000',
  '{"a":NaN}',
  '{"a":01}',
  '{"a":"\u0001"}',
  '//x\n{}',
  '<x/>',
  '{"__proto__":{"a":1}}',
  '{"constructor":1,"toString":1,"hasOwnProperty":1}',
  '['.repeat(100_000),
  '['.repeat(100_000) + ']'.repeat(100_000),
  '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000),
];
