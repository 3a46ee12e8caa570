import { applyDecorators } from '@nestjs/common';
import { noteKind } from '../validation/field-kind.js';
import { isUuid } from '../validation/parse-uuid-or-404.pipe.js';
import { type FieldOptions, fieldOf } from './field.js';
import { isStorableJson } from './storable.js';

const ISO_WITH_OFFSET =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/;

const lowerUuid = (value: unknown) => (isUuid(value) ? value.toLowerCase() : value);

/** An id; upper case is lowered. */
export function IsUuid(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isUuid',
    read: lowerUuid,
    check: isUuid,
    text: 'must be a UUID',
    api: { type: String, format: 'uuid' },
  });
}

/** The instant an ISO 8601 text with an offset means; null for any other text, days that do not exist included. */
export function parseIsoDateTime(text: string): Date | null {
  if (!ISO_WITH_OFFSET.test(text)) return null;
  const day = new Date(`${text.slice(0, 10)}T00:00:00.000Z`);
  const instant = new Date(text.toUpperCase().replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  const dayExists = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10));
  return dayExists && !Number.isNaN(instant.getTime()) ? instant : null;
}

/** A time with an offset; the property becomes a `Date`. A time without one is refused. */
export function IsIsoDateTime(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isIsoDateTime',
    read: (value) => (typeof value === 'string' ? (parseIsoDateTime(value) ?? value) : value),
    check: (value) => value instanceof Date,
    text: 'must be an ISO 8601 date and time with an offset',
    api: { type: String, format: 'date-time' },
  });
}

/** A whole number; in bodies a JSON number, in queries decimal digits. */
export function IsInteger({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
  ...options
}: FieldOptions & { min?: number; max?: number } = {}): PropertyDecorator {
  const upTo = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return applyDecorators(
    noteKind('number'),
    fieldOf({
      ...options,
      name: 'isInteger',
      check: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
      text: `must be an integer ${upTo}`,
      api: { type: 'integer', minimum: min, maximum: max === Number.MAX_SAFE_INTEGER ? undefined : max },
    }),
  );
}

/** `true` or `false`. */
export function IsFlag(options: FieldOptions = {}): PropertyDecorator {
  return applyDecorators(
    noteKind('boolean'),
    fieldOf({
      ...options,
      name: 'isFlag',
      check: (value) => typeof value === 'boolean',
      text: 'must be true or false',
      api: { type: Boolean },
    }),
  );
}

/** An object of any fields (settings, custom data), at most `maxBytes` as JSON, that a jsonb column can hold. */
export function IsOpenObject({
  maxBytes = 65_536,
  ...options
}: FieldOptions & { maxBytes?: number } = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isOpenObject',
    check: (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      isStorableJson(value) &&
      Buffer.byteLength(JSON.stringify(value)) <= maxBytes,
    text: `must be an object of at most ${maxBytes} bytes`,
    api: { type: 'object', additionalProperties: true },
  });
}
