import { fieldOf, parseIsoDateTime, type FieldOptions } from '@rmm/validation';

const DAY = /^\d{4}-\d{2}-\d{2}$/;

const toInstant = (value: unknown): unknown =>
  typeof value === 'string' ? (parseIsoDateTime(DAY.test(value) ? `${value}T00:00:00Z` : value) ?? value) : value;

/** Accepts a day (its first moment, UTC) or a time with an offset; the property becomes a `Date`. */
export function IsDayOrInstant(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isDayOrInstant',
    read: toInstant,
    check: (value) => value instanceof Date,
    text: 'must be a day or an ISO 8601 date and time with an offset',
    api: { type: String, format: 'date-time' },
  });
}
