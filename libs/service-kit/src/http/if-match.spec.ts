import { type IfMatchCondition, runInContext } from '../context/request-context.js';
import { entityTagOf, revisionOf } from './entity-tag.js';
import { InvalidIfMatch, RecordChanged } from './if-match.errors.js';
import { assertIfMatch, assertIfMatchAny, parseIfMatch } from './if-match.js';

describe('parseIfMatch', () => {
  it.each([
    ['"a.b"', ['a']],
    [' "a.b" , "c.d"', ['a', 'c']],
    [',"a.b",,', ['a']],
    ['"a.b","of,another"', ['a']],
    ['"without-revision"', []],
    ['W/"a.b"', []],
    ['"*"', []],
    ['*', null],
    [' * ', null],
  ])('reads %s', (header, revisions) => {
    expect(parseIfMatch(header)).toEqual(revisions);
  });

  it.each([
    '',
    ' ',
    ',',
    'a',
    '"a',
    '"a.b" "c.d"',
    '"a.b", *',
    '*, *',
    '"a b"',
    "'a.b'",
    'w/"a.b"',
    '"a.b", "',
    'W/ "a"',
  ])('refuses %s', (header) => {
    expect(() => parseIfMatch(header)).toThrow(InvalidIfMatch);
  });

  it('reads a header of many characters at once', () => {
    const started = performance.now();
    expect(() => parseIfMatch(`"a"${' '.repeat(100_000)}x`)).toThrow(InvalidIfMatch);
    expect(() => parseIfMatch('"'.repeat(99_999))).toThrow(InvalidIfMatch);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe('assertIfMatch', () => {
  const record = { id: '1', name: 'Acme', devices: 3 };
  const check = (ifMatch: IfMatchCondition | undefined, stored: object = record) =>
    runInContext({ requestId: 'r', ifMatch }, () => assertIfMatch(() => stored));
  const conditionFor = (tag: string): IfMatchCondition => ({
    revisions: parseIfMatch(tag),
    volatileFields: ['devices'],
  });
  const tag = entityTagOf(record, ['devices']);

  it('accepts the tag of the stored record, also in a list and when only a volatile field has changed', async () => {
    await check(conditionFor(tag));
    await check(conditionFor(`"x.y", ${tag}`));
    await check(conditionFor(tag), { ...record, devices: 4 });
    await check(conditionFor(tag), { devices: 3, name: 'Acme', id: '1', closedAt: undefined });
  });

  it.each(['"x.y"', `W/${tag}`, '"x"'])('refuses %s', async (other) => {
    await expect(check(conditionFor(other))).rejects.toThrow(RecordChanged);
  });

  it('refuses the tag of a former state', async () => {
    const error = await check(conditionFor(tag), { ...record, name: 'Beta' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 412, code: 'precondition_failed' });
  });

  it('reads nothing for *, without the header and outside of a request', async () => {
    const read = jest.fn();
    await runInContext({ requestId: 'r', ifMatch: conditionFor('*') }, () => assertIfMatch(read));
    await runInContext({ requestId: 'r' }, () => assertIfMatch(read));
    await assertIfMatch(read);
    expect(read).not.toHaveBeenCalled();
  });
});

describe('assertIfMatchAny', () => {
  const check = (revisions: string[] | null, forms: object[]) =>
    runInContext({ requestId: 'r', ifMatch: { revisions, volatileFields: ['devices'] } }, () =>
      assertIfMatchAny(() => Promise.resolve(forms)),
    );

  it('accepts the tag of each form of the record, and no other', async () => {
    const forms = [
      { id: '1', devices: 3 },
      { id: '1', name: 'Acme' },
    ];
    for (const form of [{ id: '1' }, { id: '1', name: 'Acme' }]) await check([revisionOf(form, [])], forms);
    await expect(check([revisionOf({ id: '1', name: 'Beta' }, [])], forms)).rejects.toThrow(RecordChanged);
    await expect(check([], forms)).rejects.toThrow(RecordChanged);
    await expect(check(['x'], [])).rejects.toThrow(RecordChanged);
    await check(null, []);
  });
});

describe('entityTagOf', () => {
  it('has the revision, and changes with every field', () => {
    const [one, other] = [
      { id: '1', devices: 3 },
      { id: '1', devices: 4 },
    ].map((record) => entityTagOf(record, ['devices']));
    expect(one).toMatch(/^"[\w-]{16}\.[\w-]{16}"$/);
    expect(one).not.toBe(other);
    expect(one?.split('.')[0]).toBe(other?.split('.')[0]);
    expect(one).toContain(revisionOf({ id: '1' }, []));
  });
});
