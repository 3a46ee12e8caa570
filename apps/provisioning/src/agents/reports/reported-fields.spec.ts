import { ValidationError } from '@rmm/service-kit';
import { day, flag, json, list, quantity, readFields, required, text, texts, time, word } from './reported-fields.js';

const FIELDS = { value: text(10) };
const UNREADABLE = (error: unknown) => Object.keys((error as ValidationError).fieldErrors ?? {});

/** Returns the value that a field reads; the paths of a refusal. */
function read(field: Parameters<typeof required>[0], value: unknown): unknown {
  try {
    return readFields({ value: field }, { value })['value'];
  } catch (error) {
    return UNREADABLE(error);
  }
}

describe('readFields', () => {
  it.each([
    [
      'text',
      text(10),
      [
        ['  a\tb\u0000\u200b ', 'a b'],
        [4.5, '4.5'],
        ['', undefined],
        [null, undefined],
      ],
    ],
    [
      'a text that is too long',
      text(10),
      [
        ['x'.repeat(11), ['value']],
        ['x'.repeat(1_000_000), ['value']],
      ],
    ],
    [
      'another type than text',
      text(10),
      [
        [true, ['value']],
        [{}, ['value']],
        [[], ['value']],
      ],
    ],
    [
      'numbers',
      quantity(),
      [
        [1.5, 1.5],
        ['16384', 16_384],
        [' 0.5 ', 0.5],
        ['', undefined],
        [null, undefined],
      ],
    ],
    [
      'no number',
      quantity(),
      [
        ['1,5', ['value']],
        ['0x10', ['value']],
        [-1, ['value']],
        [1e13, ['value']],
        [true, ['value']],
      ],
    ],
    [
      'whole numbers',
      quantity({ isWhole: true }),
      [
        [8.0, 8],
        ['8', 8],
        [8.5, ['value']],
        ['8.5', ['value']],
      ],
    ],
    [
      'flags',
      flag(),
      [
        [true, true],
        ['False', false],
        ['', undefined],
        [1, ['value']],
        ['yes', ['value']],
      ],
    ],
    [
      'words',
      word(['active']),
      [
        ['active', 'active'],
        ['Active', ['value']],
        [1, ['value']],
      ],
    ],
    [
      'days',
      day(),
      [
        ['2026-01-31', '2026-01-31'],
        ['20260131', '2026-01-31'],
        ['2026-01-31T10:00:00Z', '2026-01-31'],
        ['/Date(1763424000000)/', '2025-11-18'],
        [{ value: '/Date(1763424000000+0100)/' }, '2025-11-18'],
        ['2026-02-30', undefined],
        ['1/31/2026', undefined],
        ['/Date(-1)/', '1969-12-31'],
        [20_260_131, ['value']],
      ],
    ],
    [
      'times',
      time(),
      [
        ['2026-02-03T10:15:30.123456789Z', new Date('2026-02-03T10:15:30.123Z')],
        ['2026-02-03T10:15:30+02:00', new Date('2026-02-03T08:15:30Z')],
        ['/Date(1770113730123)/', new Date(1_770_113_730_123)],
        ['2026-02-03T10:15:30', ['value']],
        ['/Date(999999999999999999)/', ['value']],
        [1_770_113_730, ['value']],
      ],
    ],
    [
      'lists of texts',
      texts({ max: 2, maxLength: 3 }),
      [
        ['a', ['a']],
        [['a', null], ['a']],
      ],
    ],
    [
      'JSON',
      json(10),
      [
        [{ a: 1 }, { a: 1 }],
        ['long enough', ['value']],
        ['\u0000', ['value']],
      ],
    ],
  ])('reads or refuses %s', (_title, field, cases) => {
    for (const [value, expected] of cases as [unknown, unknown][]) {
      expect([value, read(field, value)]).toEqual([value, expected]);
    }
  });

  it('refuses JSON that is nested too deep', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
    expect(read(json(100_000), deep)).toEqual(['value']);
  });

  it('reads lists in the forms of Go and PowerShell, and names the item that it cannot read', () => {
    const items = list({ value: required(text(10)) }, { max: 3, stored: 2 });
    const [one, two, three] = ['a', 'b', 'c'].map((value) => ({ value }));
    expect(read(items, [one, two])).toEqual([one, two]);
    expect(read(items, [one, two, three])).toEqual([one, two]);
    expect(read(items, null)).toEqual([]);
    expect(read(items, one)).toEqual([one]);
    expect(read(items, { value: [one, two], Count: 2 })).toEqual([one, two]);
    expect(read(items, [one, two, three, one])).toEqual(['value']);
    expect(read(items, 'a')).toEqual(['value']);
    expect(read(items, [one, {}])).toEqual(['value.1.value']);
    expect(read(items, [null])).toEqual(['value.0']);
  });

  it('ignores unknown fields, also those that objects inherit', () => {
    expect(readFields(FIELDS, { value: 'a', other: 1 })).toEqual({ value: 'a' });
    expect(readFields({ constructor: text() }, {})).toEqual({});
    expect(readFields(FIELDS, JSON.parse('{"__proto__": {"value": "a"}}'))).toEqual({});
  });

  it.each([undefined, null, 'text', 1, []])('refuses the document %p', (body) => {
    expect(() => readFields(FIELDS, body)).toThrow(ValidationError);
  });

  it('requires a value of a required field', () => {
    for (const value of [undefined, null, '', ' ']) expect(read(required(text()), value)).toEqual(['value']);
  });
});
