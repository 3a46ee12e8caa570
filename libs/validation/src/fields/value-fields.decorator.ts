import { IsBoolean, IsDate, IsInt, IsObject, isISO8601, IsUUID, Max, Min } from 'class-validator';
import { isUuid } from '../input/parse-uuid.pipe.js';
import { isStorableJson } from '../values/storable.js';
import { field, type FieldOptions, validateBy } from './field.decorator.js';

/** The form; `isISO8601` checks the day. Hours end at 23. */
const DATE_TIME_WITH_OFFSET = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;

export const lowerUuid = (value: unknown) => (isUuid(value) ? value.toLowerCase() : value);

/** An id; upper case is lowered. */
export function IsUuid(options: FieldOptions = {}): PropertyDecorator {
  return field(
    { ...options, read: lowerUuid, api: { type: String, format: 'uuid' } },
    IsUUID('loose', { message: 'must be a UUID' }),
  );
}

/** Returns the instant of an ISO 8601 date and time with an offset; null for any other text, and before the year 1. */
export function parseIsoDateTime(text: string): Date | null {
  const upper = text.toUpperCase();
  if (!DATE_TIME_WITH_OFFSET.test(upper) || !isISO8601(upper, { strict: true })) return null;
  const instant = new Date(upper.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  return instant.getUTCFullYear() >= 1 ? instant : null;
}

/** A time with an offset; the property becomes a `Date`. A time without one is refused. */
export function IsIsoDateTime(options: FieldOptions = {}): PropertyDecorator {
  return field(
    {
      ...options,
      read: (value) => (typeof value === 'string' ? (parseIsoDateTime(value) ?? value) : value),
      api: { type: String, format: 'date-time' },
    },
    IsDate({ message: 'must be an ISO 8601 date and time with an offset' }),
  );
}

/** A whole number; in bodies a JSON number, in queries decimal digits. */
export function IsInteger({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
  ...options
}: FieldOptions & { min?: number; max?: number } = {}): PropertyDecorator {
  const isOpen = max === Number.MAX_SAFE_INTEGER;
  const message = `must be an integer ${isOpen ? `of at least ${min}` : `from ${min} to ${max}`}`;
  return field(
    { ...options, query: 'number', api: { type: 'integer', minimum: min, maximum: isOpen ? undefined : max } },
    IsInt({ message }),
    Min(min, { message }),
    Max(max, { message }),
  );
}

/** `true` or `false`. */
export function IsFlag(options: FieldOptions = {}): PropertyDecorator {
  return field(
    { ...options, query: 'boolean', api: { type: Boolean } },
    IsBoolean({ message: 'must be true or false' }),
  );
}

/** An object of any fields (settings, custom data), at most `maxBytes` as JSON, that a jsonb column can store. */
export function IsOpenObject({
  maxBytes = 65_536,
  ...options
}: FieldOptions & { maxBytes?: number } = {}): PropertyDecorator {
  const message = `must be an object of at most ${maxBytes} bytes`;
  return field(
    { ...options, api: { type: 'object', additionalProperties: true } },
    IsObject({ message }),
    validateBy(
      'isStorableJson',
      (value) => isStorableJson(value),
      'must not nest too deep or contain NUL, half of a surrogate pair or infinite numbers',
    ),
    validateBy('isJsonOfSize', (value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes, message),
  );
}
