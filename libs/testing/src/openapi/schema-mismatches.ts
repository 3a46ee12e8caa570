/** The subset of JSON Schema that our OpenAPI documents use. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

export type Schemas = Record<string, Schema>;

const FORMATS: Record<string, RegExp> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
};

/** Lists where a body differs from its schema; a key that the schema does not name is a difference. */
export function schemaMismatches(schema: Schema, value: unknown, schemas: Schemas, at = 'body'): string[] {
  const deeper = (part: Schema, inner: unknown, where = at) => schemaMismatches(part, inner, schemas, where);
  if (schema.$ref) return deeper(schemas[schema.$ref.slice('#/components/schemas/'.length)] ?? {}, value);
  if (schema.allOf) return schema.allOf.flatMap((part) => deeper(part, value));
  if (schema.oneOf) {
    const matching = schema.oneOf.filter((part) => deeper(part, value).length === 0).length;
    return matching === 1 ? [] : [`${at} matches ${matching} of ${schema.oneOf.length} shapes`];
  }
  if (schema.anyOf) {
    return schema.anyOf.some((part) => deeper(part, value).length === 0) ? [] : [`${at} matches none of its shapes`];
  }
  const types = [schema.type ?? []].flat();
  if (!types.some((type) => isOf(type, value))) return [`${at} is not ${types.join(' or ') || 'described'}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${at} is not in the enum`];
  if (Array.isArray(value)) return value.flatMap((item, i) => deeper(schema.items ?? {}, item, `${at}.${i}`));
  if (typeof value === 'string') {
    return FORMATS[schema.format ?? '']?.test(value) === false ? [`${at} is not a ${schema.format}`] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const { properties = {}, required = [] } = schema;
  const absent = required.filter((key) => !Object.hasOwn(value, key)).map((key) => `${at}.${key} is absent`);
  const wrong = Object.entries(value).flatMap(([key, inner]) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined; // a key may be "constructor"
    if (property) return deeper(property, inner, `${at}.${key}`);
    return schema.additionalProperties ? [] : [`${at}.${key} is not described`];
  });
  return [...absent, ...wrong];
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
