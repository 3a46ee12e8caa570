import type { OpenAPIObject } from '@nestjs/swagger';
import { randomUUID } from 'node:crypto';
import type { OpenApiDocuments } from '@rmm/service-kit';
import { RecordSchemasService } from './record-schemas.service.js';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const listOf = (schema: object) => ({
  get: { responses: { 200: { content: { 'application/json': { schema } } } } },
});

/** A document as Nest writes it: nullable objects as unions, lists of references, free maps. */
const DOCUMENT = {
  paths: {
    '/api/v1/partner-api/things': listOf(ref('ThingPage')),
    '/api/v1/partner-api/kinds': listOf(ref('KindPage')),
    '/api/v1/partner-api/nothing': { get: { responses: { 200: { description: 'No content' } } } },
  },
  components: {
    schemas: {
      ThingPage: { type: 'object', properties: { data: { type: 'array', items: ref('Thing') } } },
      KindPage: {
        type: 'object',
        properties: { data: { type: 'array', items: { oneOf: [ref('First'), ref('Second')] } } },
      },
      First: { type: 'object', required: ['kind'], properties: { kind: { type: 'string', enum: ['first'] } } },
      Second: {
        type: 'object',
        required: ['kind', 'size'],
        properties: { kind: { type: 'string', enum: ['second'] }, size: { type: 'number', default: 1 } },
      },
      Contact: { type: 'object', required: ['name'], properties: { name: { type: ['string', 'null'] } } },
      Thing: {
        type: 'object',
        required: ['id', 'default', 'contact', 'status', 'changedAt', 'tags'],
        properties: {
          id: { type: 'string', format: 'uuid' },
          default: { type: 'boolean', description: 'A field with the name of a keyword' },
          contact: { anyOf: [ref('Contact'), { type: 'null' }] },
          owner: { allOf: [ref('Contact')] },
          status: { type: ['string', 'null'], enum: ['active', null] },
          changedAt: { type: 'string', format: 'date-time' },
          tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
          settings: { type: 'object', additionalProperties: true },
        },
      },
    },
  },
} as unknown as OpenAPIObject;

describe('RecordSchemasService', () => {
  let built: number;
  let schemas: RecordSchemasService;

  beforeEach(() => {
    built = 0;
    schemas = new RecordSchemasService({ own: () => (built++, DOCUMENT) } as unknown as OpenApiDocuments);
  });

  const thing = (more: object = {}) => ({
    id: randomUUID(),
    default: true,
    contact: { name: null },
    status: null,
    changedAt: '2026-03-01T12:00:00.000Z',
    tags: ['a'],
    ...more,
  });

  it('accepts records with the published fields and compiles a schema once', () => {
    schemas.assertValid('things', thing());
    schemas.assertValid('things', thing({ contact: null, owner: { name: 'x' }, status: 'active' }));
    schemas.assertValid('things', thing({ settings: { anything: [1, { a: null }] } }));
    expect(built).toBe(1);
  });

  it.each([
    ['a missing field', { tags: undefined }, 'tags: required'],
    ['a wrong type', { default: 'hunter2' }, 'default: type'],
    ['an unknown field', { internalNote: 'hunter2' }, 'internalNote: additionalProperties'],
    [
      'an unknown field of an object',
      { contact: { name: 'x', phone: 'hunter2' } },
      'contact.phone: additionalProperties',
    ],
    ['a wrong field of an object', { owner: { name: 7 } }, 'owner.name: type'],
    ['a value outside an enumeration', { status: 'hunter2' }, 'status: enum'],
    ['an id that is no UUID', { id: 'hunter2' }, 'id: pattern'],
    ['a time without offset', { changedAt: '2026-03-01T12:00:00' }, 'changedAt: format'],
    ['a list that is too long', { tags: ['hunter2', 'b', 'c'] }, 'tags: maxItems'],
    ['a wrong item', { tags: ['a', 7] }, 'tags.1: type'],
  ])('refuses %s with its path and without its value', (_what, more, expected) => {
    const refused = () => schemas.assertValid('things', thing(more));
    expect(refused).toThrow(`A record of things violates its published schema at ${expected}`);
    expect(refused).not.toThrow('hunter2');
  });

  it('accepts any of several kinds of records; a default does not replace a missing field', () => {
    schemas.assertValid('kinds', { kind: 'first' });
    schemas.assertValid('kinds', { kind: 'second', size: 1 });
    expect(() => schemas.assertValid('kinds', { kind: 'second' })).toThrow('at size: required');
    expect(() => schemas.assertValid('kinds', { kind: 'first', size: 1 })).toThrow('at size: additionalProperties');
    expect(() => schemas.assertValid('kinds', { kind: 'third' })).toThrow('A record of kinds violates');
  });

  it('throws for a list that is not published', () => {
    expect(() => schemas.assertValid('other', {})).toThrow('no list at /api/v1/partner-api/other');
    expect(() => schemas.assertValid('nothing', {})).toThrow('no list at /api/v1/partner-api/nothing');
  });
});
