import { IsEmail, IsIn, IsOptional, Length, Max } from 'class-validator';
import { ValidationError } from '@rmm/errors';
import { IsCidrList, IsNested, IsNestedList, IsUuidList, IsWordList } from '../fields/list-fields.decorator.js';
import { PageQueryDto } from '../fields/page.dto.js';
import { IsEmailAddress, IsName, IsOneOf, IsText } from '../fields/text-fields.decorator.js';
import {
  IsFlag,
  IsInteger,
  IsIsoDateTime,
  IsOpenObject,
  IsUuid,
  parseIsoDateTime,
} from '../fields/value-fields.decorator.js';
import { type DtoSource, OpenDocument } from './create-dto.js';
import { DtoValidationPipe, readDto } from './dto-validation.pipe.js';

class FieldsDto {
  @IsName({ optional: true, max: 5 }) name?: string;
  @IsText({ optional: true, nullable: true, max: 5 }) text?: string | null;
  @IsEmailAddress({ optional: true }) email?: string;
  @IsUuid({ optional: true }) id?: string;
  @IsIsoDateTime({ optional: true }) at?: Date;
  @IsInteger({ optional: true, min: 0, max: 9 }) count?: number;
  @IsFlag({ optional: true }) on?: boolean;
  @IsOneOf(['a', 'b'], { optional: true }) letter?: string;
  @IsUuidList({ optional: true, max: 2 }) ids?: string[];
  @IsWordList({ optional: true, min: 1 }) words?: string[];
  @IsCidrList({ optional: true }) ranges?: string[];
  @IsOpenObject({ optional: true, maxBytes: 20 }) settings?: object;
  @IsNested(() => FieldsDto, { optional: true }) inner?: FieldsDto;
  @IsNestedList(() => FieldsDto, { optional: true }) list?: FieldsDto[];
}

function problems(value: unknown, source: DtoSource = 'body', type: new () => object = FieldsDto) {
  try {
    readDto(type, value, source);
    return {};
  } catch (error) {
    if (error instanceof ValidationError) return error.fieldErrors;
    throw error;
  }
}

const ID = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';

describe('readDto of a body', () => {
  it('returns an instance of the class with trimmed and normalized values', () => {
    const dto = readDto(FieldsDto, {
      name: '  x ',
      email: ' Ann@Example.COM',
      id: ID.toUpperCase(),
      at: '2026-01-01T01:00:00+01:00',
      ids: [ID.toUpperCase(), ID],
      words: ['b', 'a', 'b'],
      inner: { count: 3 },
    });
    expect(dto).toBeInstanceOf(FieldsDto);
    expect(dto.inner).toBeInstanceOf(FieldsDto);
    expect(dto).toMatchObject({ name: 'x', email: 'ann@example.com', id: ID, ids: [ID], words: ['b', 'a'] });
    expect(dto.at).toEqual(new Date('2026-01-01T00:00:00.000Z'));
    expect(Object.keys(dto)).not.toContain('text');
  });

  it.each([
    [{ name: 'a\u0007' }, 'name', 'must not contain control characters'],
    [{ name: 'a\u202e' }, 'name', 'must not contain control characters'],
    [{ name: 'a\u200bb' }, 'name', 'must not contain control characters'],
    [{ name: 'a\u200db' }, 'name', 'must not contain control characters'],
    [{ name: 'a\u2028b' }, 'name', 'must not contain control characters'],
    [{ email: 'an\u200bn@example.com' }, 'email', 'must be an e-mail address of at most 255 characters'],
    [{ name: null }, 'name', 'must be text of 1 to 5 characters'],
    [{ text: 'longer' }, 'text', 'must be text of 0 to 5 characters'],
    [{ name: 'a\ud800' }, 'name', 'must not contain NUL or half of a surrogate pair'],
    [{ text: 'a\u0000' }, 'text', 'must not contain NUL or half of a surrogate pair'],
    [{ words: ['\udc00'] }, 'words.0', 'must be text of 1 to 255 characters'],
    [{ email: 'ann@localhost' }, 'email', 'must be an e-mail address of at most 255 characters'],
    [{ email: '\ud800@example.com' }, 'email', 'must be an e-mail address of at most 255 characters'],
    [{ id: `${ID}0` }, 'id', 'must be a UUID'],
    [{ at: '2026-01-01T00:00:00' }, 'at', 'must be an ISO 8601 date and time with an offset'],
    [{ count: '5' }, 'count', 'must be an integer from 0 to 9'],
    [{ count: 1.5 }, 'count', 'must be an integer from 0 to 9'],
    [{ on: 'true' }, 'on', 'must be true or false'],
    [{ letter: 'c' }, 'letter', 'must be one of a, b'],
    [{ letter: ['a'] }, 'letter', 'must be one of a, b'],
    [{ ids: [ID, 'x'] }, 'ids.1', 'must be a UUID'],
    [{ ids: 'x' }, 'ids', 'must be a list of 0 to 2 items'],
    [{ words: [] }, 'words', 'must be a list of 1 to 1000 items'],
    [{ ranges: ['10.0.0.0/8', '10.0.0.0/40'] }, 'ranges.1', 'must be a CIDR range'],
    [{ settings: { a: 'far too much of it' } }, 'settings', 'must be an object of at most 20 bytes'],
    [{ settings: { a: '\u0000' } }, 'settings', expect.stringContaining('must not nest too deep or contain NUL')],
    [{ list: [[]] }, 'list.0', 'must be an object'],
    [{ list: [[{ count: 1 }]] }, 'list.0', 'must be an object'],
    [{ at: '0000-01-01T00:00:00Z' }, 'at', 'must be an ISO 8601 date and time with an offset'],
    [{ inner: [] }, 'inner', 'must be an object'],
    [{ inner: { inner: { count: -1 } } }, 'inner.inner.count', 'must be an integer from 0 to 9'],
    [{ inner: { who: 1 } }, 'inner.who', 'unknown field'],
  ])('refuses %j', (body, path, text) => {
    expect(problems(body)).toEqual({ [path]: [text] });
  });

  it('reports names of Object.prototype as unknown fields', () => {
    const body = JSON.parse('{"__proto__":{"name":"x"},"constructor":1}') as object;
    const found = problems(body);
    expect(Object.keys(found ?? {}).sort()).toEqual(['__proto__', 'constructor']);
    expect(({} as { name?: string }).name).toBeUndefined();
  });

  it('refuses a value that is no object', () => {
    for (const body of [[], 5, 'x', null]) expect(problems(body)).toEqual({ body: ['must be an object'] });
  });

  it('lists at most 100 problems', () => {
    const body = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, 1]));
    expect(Object.keys(problems(body) ?? {})).toHaveLength(100);
  });

  it('ignores unknown fields of an open document', () => {
    @OpenDocument()
    class AgentDto {
      @IsName() hostname: string;
    }
    expect({ ...readDto(AgentDto, { hostname: 'a', newInVersion9: true }) }).toEqual({ hostname: 'a' });
  });

  it('accepts the plain decorators of class-validator', () => {
    class PlainDto {
      @IsEmail() email: string;
      @IsOptional() @IsIn(['a', 'b'], { each: true }) letters?: string[];
      @Length(2, 3) code: string;
      @Max(5) size: number;
    }
    expect(problems({ email: 'no', letters: ['a', 'c'], code: 'x', size: 6 }, 'body', PlainDto)).toEqual({
      email: ['must be an email'],
      letters: ['must be one of the following values: a, b'],
      code: ['must be longer than or equal to 2 characters'],
      size: ['must not be greater than 5'],
    });
    expect({ ...readDto(PlainDto, { email: 'a@b.de', code: 'xy', size: 1 }) }).toMatchObject({ code: 'xy' });
  });

  it('refuses 20,000 levels of nested objects or arrays', () => {
    const objects = JSON.parse(`${'{"inner":'.repeat(20_000)}1${'}'.repeat(20_000)}`) as object;
    const [path] = Object.keys(problems(objects) ?? {});
    expect(path).toMatch(/^inner(\.inner)+$/);
    const arrays = JSON.parse(`{"list":${'['.repeat(20_000)}${']'.repeat(20_000)}}`) as object;
    expect(problems(arrays)).toEqual({ 'list.0': ['must be an object'] });
    const settings = JSON.parse(`{"settings":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_001)}`) as object;
    expect(Object.keys(problems(settings) ?? {})).toEqual(['settings']);
  });

  it('validates through the pipe of a route as readDto does', async () => {
    const pipe = new DtoValidationPipe();
    const body = { type: 'body', metatype: FieldsDto } as const;
    const query = { type: 'query', metatype: PageQueryDto } as const;
    await expect(pipe.transform({ settings: { constructor: 'kept', a: 1 } }, body)).rejects.toThrow(ValidationError);
    await expect(pipe.transform({ settings: { constructor: 1 } }, body)).resolves.toMatchObject({
      settings: { constructor: 1 },
    });
    await expect(pipe.transform({ page: '2', color: 'x' }, query)).resolves.toEqual({ page: 2, limit: 50 });
    for (const name of ['cursor', 'sort', 'status', 'orgId', 'siteIds', 'deviceGroupId', 'pageSize', 'createdAfter']) {
      const refused = { fieldErrors: { [name]: ['is not supported here'] } };
      await expect(pipe.transform({ [name]: 'x' }, query)).rejects.toMatchObject(refused);
    }
    await expect(pipe.transform([], body)).rejects.toMatchObject({ fieldErrors: { body: ['must be an object'] } });
    await expect(pipe.transform(undefined, body)).resolves.toBeInstanceOf(FieldsDto);
  });
});

describe('readDto of a query', () => {
  class QueryDto extends PageQueryDto {
    @IsFlag({ optional: true }) expired?: boolean;
    @IsWordList({ optional: true }) tags?: string[];
    @IsUuid({ optional: true }) orgId?: string;
  }

  it('converts text to the type of the field and ignores unknown parameters', () => {
    const read = (query: object) => ({ ...readDto(QueryDto, query, 'query') });
    expect(read({})).toEqual({ page: 1, limit: 50 });
    expect(read({ page: '2', limit: '100', expired: 'false', tags: 'a', color: 'x' })).toEqual({
      page: 2,
      limit: 100,
      expired: false,
      tags: ['a'],
    });
  });

  it('reads lists that are comma-separated, repeated, or both', () => {
    const tags = (given: unknown) => readDto(QueryDto, { tags: given }, 'query').tags;
    expect(tags('a,b')).toEqual(['a', 'b']);
    expect(tags(['a', 'b,c', 'a'])).toEqual(['a', 'b', 'c']);
    expect(Object.keys(problems({ tags: 'a,' }, 'query', QueryDto) ?? {})).toEqual(['tags.1']);
  });

  it.each([
    [{ page: '0' }, 'page'],
    [{ page: '1.0' }, 'page'],
    [{ page: '+1' }, 'page'],
    [{ page: '0x1' }, 'page'],
    [{ page: '' }, 'page'],
    [{ limit: '101' }, 'limit'],
    [{ limit: ['5', '6'] }, 'limit'],
    [{ expired: '1' }, 'expired'],
    [{ expired: 'TRUE' }, 'expired'],
    [{ orgId: [ID, ID] }, 'orgId'],
  ])('refuses %j', (query, path) => {
    expect(Object.keys(problems(query, 'query', QueryDto) ?? {})).toEqual([path]);
  });
});

describe('parseIsoDateTime', () => {
  it.each([
    ['2026-02-28T23:59:59.999Z', '2026-02-28T23:59:59.999Z'],
    ['2026-02-28T23:59:59.123456+02:00', '2026-02-28T21:59:59.123Z'],
    ['2026-02-28t23:59z', '2026-02-28T23:59:00.000Z'],
    ['2026-02-28T23:59:00+0200', '2026-02-28T21:59:00.000Z'],
  ])('reads %s as %s', (text, iso) => {
    expect(parseIsoDateTime(text)?.toISOString()).toBe(iso);
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2026-02-28',
    '2026-02-28T24:00:00Z',
    '2026-02-28T23:59:00',
    'yesterday',
    '1772323200',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-14:00',
    '+275760-09-13T00:00:00Z',
    '2026-W09-6T00:00:00Z',
    '2026-02-28T23:59:00,5Z',
  ])('returns null for %s', (text) => {
    expect(parseIsoDateTime(text)).toBeNull();
  });
});
