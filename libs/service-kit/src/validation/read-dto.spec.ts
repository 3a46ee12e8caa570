import { Type } from 'class-transformer';
import { IsEmail, IsIn, IsOptional, Length, Max, ValidateNested } from 'class-validator';
import { IsCidrList, IsNested, IsUuidList, IsWordList } from '../dto/list-fields.js';
import { PageQueryDto } from '../dto/page.js';
import { IsEmailAddress, IsHttpUrl, IsName, IsOneOf, IsText } from '../dto/text-fields.js';
import { IsFlag, IsInteger, IsIsoDateTime, IsOpenObject, IsUuid, parseIsoDateTime } from '../dto/value-fields.js';
import { ValidationError } from '../errors/errors.js';
import { OpenDocument } from './field-kind.js';
import { type DtoSource, readDto } from './read-dto.js';

class FieldsDto {
  @IsName({ optional: true, max: 5 }) name?: string;
  @IsText({ optional: true, nullable: true, max: 5 }) text?: string | null;
  @IsEmailAddress({ optional: true }) email?: string;
  @IsUuid({ optional: true }) id?: string;
  @IsIsoDateTime({ optional: true }) at?: Date;
  @IsInteger({ optional: true, min: 0, max: 9 }) count?: number;
  @IsFlag({ optional: true }) on?: boolean;
  @IsOneOf(['a', 'b'], { optional: true }) letter?: string;
  @IsHttpUrl({ optional: true }) url?: string;
  @IsUuidList({ optional: true, max: 2 }) ids?: string[];
  @IsWordList({ optional: true, min: 1 }) words?: string[];
  @IsCidrList({ optional: true }) ranges?: string[];
  @IsOpenObject({ optional: true, maxBytes: 20 }) settings?: object;
  @IsNested(() => FieldsDto, { optional: true }) inner?: FieldsDto;
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

describe('a body', () => {
  it('becomes an instance of its class, tidied', () => {
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
    expect(Object.keys(dto)).not.toContain('url');
  });

  it.each([
    [{ name: 'a\u0007' }, 'name', 'must be text of 1 to 5 characters'],
    [{ name: null }, 'name', 'must be text of 1 to 5 characters'],
    [{ text: 'longer' }, 'text', 'must be text of 0 to 5 characters'],
    [{ name: 'a\ud800' }, 'name', 'must be text of 1 to 5 characters'],
    [{ text: 'a\u0000' }, 'text', 'must be text of 0 to 5 characters'],
    [{ words: ['\udc00'] }, 'words.0', 'must be text of 1 to 255 characters'],
    [{ email: 'ann@localhost' }, 'email', 'must be an e-mail address of at most 255 characters'],
    [{ id: `${ID}0` }, 'id', 'must be a UUID'],
    [{ at: '2026-01-01T00:00:00' }, 'at', 'must be an ISO 8601 date and time with an offset'],
    [{ count: '5' }, 'count', 'must be an integer from 0 to 9'],
    [{ count: 1.5 }, 'count', 'must be an integer from 0 to 9'],
    [{ on: 'true' }, 'on', 'must be true or false'],
    [{ letter: 'c' }, 'letter', 'must be one of a, b'],
    [{ letter: ['a'] }, 'letter', 'must be one of a, b'],
    [{ url: 'javascript:alert(1)' }, 'url', 'must be an http or https URL of at most 2048 characters'],
    [{ ids: [ID, 'x'] }, 'ids.1', 'must be a UUID'],
    [{ ids: 'x' }, 'ids', 'must be a list of 0 to 2 items'],
    [{ words: [] }, 'words', 'must be a list of 1 to 1000 items'],
    [{ ranges: ['10.0.0.0/8', '10.0.0.0/40'] }, 'ranges.1', 'must be a CIDR range'],
    [{ settings: { a: 'far too much of it' } }, 'settings', 'must be an object of at most 20 bytes'],
    [{ settings: { a: '\u0000' } }, 'settings', 'must be an object of at most 20 bytes'],
    [{ inner: [] }, 'inner', 'must be an object'],
    [{ inner: { inner: { count: -1 } } }, 'inner.inner.count', 'must be an integer from 0 to 9'],
    [{ inner: { who: 1 } }, 'inner.who', 'unknown field'],
  ])('%j is refused', (body, path, text) => {
    expect(problems(body)).toEqual({ [path]: [text] });
  });

  it('names names of the prototype as unknown too', () => {
    const body = JSON.parse('{"__proto__":{"name":"x"},"constructor":1}') as object;
    const found = problems(body);
    expect(Object.keys(found ?? {}).sort()).toEqual(['__proto__', 'constructor']);
    expect(({} as { name?: string }).name).toBeUndefined();
  });

  it('must be an object', () => {
    for (const body of [[], 5, 'x', null]) expect(problems(body)).toEqual({ body: ['must be an object'] });
  });

  it('is not answered with more problems than anybody reads', () => {
    const body = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, 1]));
    expect(Object.keys(problems(body) ?? {})).toHaveLength(100);
  });

  it('may be an open document', () => {
    @OpenDocument()
    class AgentDto {
      @IsName() hostname: string;
    }
    expect({ ...readDto(AgentDto, { hostname: 'a', newInVersion9: true }) }).toEqual({ hostname: 'a' });
  });

  it('obeys the plain decorators of class-validator and class-transformer', () => {
    class InnerDto {
      @Max(5) size: number;
    }
    class PlainDto {
      @IsEmail() email: string;
      @IsOptional() @IsIn(['a', 'b'], { each: true }) letters?: string[];
      @Length(2, 3) code: string;
      @ValidateNested({ each: true }) @Type(() => InnerDto) inner: InnerDto[];
    }
    const body = { email: 'no', letters: ['a', 'c'], code: 'x', inner: [{ size: 1 }, { size: 6 }] };
    expect(problems(body, 'body', PlainDto)).toEqual({
      email: ['must be an email'],
      'letters.1': ['must be one of the following values: a,b'],
      code: ['must be longer than or equal to 2 characters'],
      'inner.1.size': ['must not be greater than 5'],
    });
    const dto = readDto(PlainDto, { email: 'a@b.de', code: 'xy', inner: [{ size: 1 }] });
    expect(dto.inner[0]).toBeInstanceOf(InnerDto);
  });
});

describe('a query', () => {
  class QueryDto extends PageQueryDto {
    @IsFlag({ optional: true }) expired?: boolean;
    @IsWordList({ optional: true }) tags?: string[];
    @IsUuid({ optional: true }) orgId?: string;
  }

  it('is text that becomes what the field is; unknown parameters are ignored', () => {
    const read = (query: object) => ({ ...readDto(QueryDto, query, 'query') });
    expect(read({})).toEqual({ page: 1, limit: 50 });
    expect(read({ page: '2', limit: '100', expired: 'false', tags: 'a', color: 'x' })).toEqual({
      page: 2,
      limit: 100,
      expired: false,
      tags: ['a'],
    });
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
  ])('%j is refused', (query, path) => {
    expect(Object.keys(problems(query, 'query', QueryDto) ?? {})).toEqual([path]);
  });
});

describe('a time', () => {
  it.each([
    ['2026-02-28T23:59:59.999Z', '2026-02-28T23:59:59.999Z'],
    ['2026-02-28T23:59:59.123456+02:00', '2026-02-28T21:59:59.123Z'],
    ['2026-02-28t23:59z', '2026-02-28T23:59:00.000Z'],
    ['2026-02-28T23:59:00+0200', '2026-02-28T21:59:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseIsoDateTime(text)?.toISOString()).toBe(iso);
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2026-02-28',
    '2026-02-28T24:00:00Z',
    '2026-02-28T23:59:00',
    'yesterday',
    '1772323200',
  ])('%s is none', (text) => {
    expect(parseIsoDateTime(text)).toBeNull();
  });
});
