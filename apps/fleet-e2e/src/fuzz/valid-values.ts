import { PASSWORD } from '@rmm/testing';
import type { ApiDocument, Schema } from './operations.js';
import type { Random } from './random.js';

/** Ids of existing records by the name of the field or parameter: `orgId`, `siteId`, `roleId`. */
export type KnownIds = Readonly<Record<string, readonly string[]>>;

/** The field of a value: its name, and the value that the recorded example of the operation has there. */
interface Field {
  name: string;
  example?: unknown;
}

const SCOPES = ['devices:read', 'devices:write', 'ai:read'];
const PARTNER_SCOPES = ['organizations:read', 'sites:read'];

/** Texts by field name, where any text would not be accepted. */
const TEXTS: Record<string, (random: Random) => string> = {
  password: () => PASSWORD,
  currentPassword: () => PASSWORD,
  newPassword: () => PASSWORD,
  timezone: (random) => random.pick(['Europe/Berlin', 'UTC']),
  timeZone: (random) => random.pick(['Europe/Berlin', 'UTC']),
  code: (random) => String(random.integer(100_000, 999_999)),
  url: () => 'http://127.0.0.1:9/hooks',
  slug: (random) => `slug-${random.hex(8)}`,
  country: () => 'DE',
  currencyCode: () => 'EUR',
  resource: (random) => random.pick(['devices', 'sites', 'organizations']),
  action: (random) => random.pick(['read', 'write']),
  method: (random) => random.pick(['initialize', 'tools/list', 'tools/call', 'prompts/list', 'resources/list', 'ping']),
  name: (random) => `Name ${random.hex(6)}`,
};

/** Builds values that match the schemas of requests, as far as a schema can say. */
export class ValidValues {
  constructor(
    private readonly schemas: ApiDocument['schemas'],
    private readonly knownIds: () => KnownIds,
  ) {}

  create(schema: Schema, random: Random, field: Field = { name: '' }): unknown {
    const { example } = schema;
    if (schema.$ref) return this.create(this.resolve(schema.$ref), random, field);
    if (schema.allOf) return this.create(schema.allOf[0] ?? {}, random, field);
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices) return this.create(random.pick(choices), random, field);
    if (schema.enum) return random.pick(schema.enum);
    const given = TEXTS[field.name] ? undefined : (example ?? field.example);
    if (given !== undefined && !isId(given) && random.chance(0.5)) return given;
    const type = random.pick([schema.type ?? 'string'].flat());
    if (type === 'object') return this.createObject(schema, random, field);
    if (type === 'array') return this.createList(schema, random, field);
    if (type === 'integer' || type === 'number') {
      const min = schema.minimum ?? 0;
      return random.integer(min, Math.min(schema.maximum ?? min + 100, min + 100));
    }
    if (type === 'boolean') return random.chance(0.5);
    return type === 'null' ? null : this.createText(schema, random, field.name);
  }

  /** Returns the fields of an object schema, also of one behind a reference. */
  propertiesOf(schema: Schema): Record<string, Schema> {
    return (schema.$ref ? this.resolve(schema.$ref) : schema).properties ?? {};
  }

  private resolve(ref: string): Schema {
    return this.schemas[ref.slice('#/components/schemas/'.length)] ?? {};
  }

  private createObject(schema: Schema, random: Random, { example }: Field): unknown {
    const { properties = {}, required = [] } = schema;
    const examples = (example ?? {}) as Record<string, unknown>;
    const share = random.pick([0, 0.2, 0.5]); // of the optional fields: some exclude each other
    const names = Object.keys(properties).filter((name) => required.includes(name) || random.chance(share));
    const object = Object.fromEntries(
      names.map((name) => [name, this.create(properties[name] ?? {}, random, { name, example: examples[name] })]),
    );
    if (Object.keys(properties).length === 0 && schema.additionalProperties)
      object[`k${random.hex(4)}`] = random.hex(6);
    return object;
  }

  private createList(schema: Schema, random: Random, { name }: Field): unknown[] {
    if (name === 'scopes' && !schema.items?.enum) return [random.pick([...SCOPES, ...PARTNER_SCOPES])];
    if (name === 'events') return [random.pick(['device.enrolled', 'device.*', '*'])];
    if (name === 'sourceCidrs') return [];
    const length = Math.max(schema.minItems ?? 0, random.integer(0, 3));
    return Array.from({ length }, () => this.create(schema.items ?? {}, random, { name: name.replace(/s$/, '') }));
  }

  private createText({ format, minLength = 1, maxLength = 40, pattern }: Schema, random: Random, name: string): string {
    const ids = this.knownIds()[name];
    if (ids?.length && random.chance(0.9)) return random.pick(ids);
    if (format === 'uuid') return random.uuid();
    if (format === 'date-time')
      return new Date(Date.UTC(2030, random.integer(0, 11), random.integer(1, 28))).toISOString();
    if (format === 'email') return `fuzz-${random.hex(10)}@fuzz.test`;
    if (pattern?.includes('{64}')) return random.hex(64);
    if (pattern === '^[A-Z]{3}$') return 'EUR';
    const text = TEXTS[name]?.(random) ?? `text ${random.hex(6)}`;
    return text.slice(0, maxLength).padEnd(minLength, 'x');
  }
}

const isId = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{8}-/.test(value);
