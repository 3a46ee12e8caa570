import type { OpenAPIObject } from '@nestjs/swagger';
import type { AnySchemaObject } from 'ajv/dist/2020.js';

type Json = Readonly<Record<string, unknown>>;

const COMPONENT = '#/components/schemas/';
const UUID = '^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';
/** Keywords that do not decide which values are valid. */
const IGNORED = new Set(['default', 'description', 'discriminator', 'example', 'examples', 'title']);

/**
 * Returns the JSON schema of the records of a list from the OpenAPI document. Objects allow the properties they declare and no
 * other, unless they say so: what is not published must not leave.
 * @throws Error  when the document has no such list
 */
export function toRecordSchema({ paths, components }: OpenAPIObject, path: string): AnySchemaObject {
  const response = (paths[path]?.get?.responses['200'] ?? {}) as Json;
  const content = (response['content'] ?? {}) as Readonly<Record<string, { schema?: Json }>>;
  const schemas = (components?.schemas ?? {}) as Readonly<Record<string, Json>>;
  const page = resolve(content['application/json']?.schema, schemas);
  const data = resolve((page?.['properties'] as Record<string, Json> | undefined)?.['data'], schemas);
  const items = data?.['items'] as Json | undefined;
  if (!items) throw new Error(`The OpenAPI document has no list at ${path}`);
  const definitions = Object.entries(schemas).map(([name, schema]) => [name, toStrict(schema)] as const);
  return { ...toStrict(items), $defs: Object.fromEntries(definitions) };
}

function resolve(schema: Json | undefined, schemas: Readonly<Record<string, Json>>): Json | undefined {
  const reference = schema?.['$ref'];
  return typeof reference === 'string' ? schemas[reference.replace(COMPONENT, '')] : schema;
}

/** Returns a schema without what does not decide, with references to the definitions of its own. */
function toStrict(schema: Json): AnySchemaObject {
  const alternatives = schema['allOf'];
  if (Array.isArray(alternatives) && alternatives.length === 1) return toStrict(alternatives[0] as Json);
  const entries = Object.entries(schema)
    .filter(([keyword]) => !IGNORED.has(keyword) && !keyword.startsWith('x-'))
    .map(([keyword, value]) => toStrictKeyword(keyword, value));
  const strict = Object.fromEntries(entries) as Record<string, unknown>;
  if (strict['properties'] !== undefined) strict['additionalProperties'] ??= false;
  return strict;
}

function toStrictKeyword(keyword: string, value: unknown): [string, unknown] {
  if (keyword === '$ref') return [keyword, String(value).replace(COMPONENT, '#/$defs/')];
  if (keyword === 'format' && value === 'uuid') return ['pattern', UUID];
  if (keyword === 'properties') {
    const properties = Object.entries(value as Record<string, Json>);
    return [keyword, Object.fromEntries(properties.map(([name, property]) => [name, toStrict(property)]))];
  }
  if (keyword === 'enum' || keyword === 'required' || keyword === 'type') return [keyword, value];
  if (Array.isArray(value)) return [keyword, value.map((item) => toStrict(item as Json))];
  return [keyword, typeof value === 'object' && value !== null ? toStrict(value as Json) : value];
}
