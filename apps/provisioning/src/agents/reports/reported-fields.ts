import type { ApiBodyOptions } from '@nestjs/swagger';
import { ValidationError } from '@rmm/service-kit';
import { isStorableJson, parseIsoDateTime } from '@rmm/validation';

type Schema = Extract<ApiBodyOptions, { schema: unknown }>['schema'] & { type?: string };

/**
 * One field of a document that an installed agent sends. Agents are written in several languages and older or newer than
 * the fleet: unknown fields are ignored, null is an unknown value, and numbers, flags and lists are read in the forms that Go
 * and PowerShell give them.
 */
export interface ReportedField<T> {
  schema: Schema;
  isRequired?: boolean;
  /** The value of null; null is refused for a required field without it. */
  ofNull?: T;
  /** Reads a value other than null; null when it says nothing. @throws ValidationError naming the path */
  read(value: unknown, path: string): T | null;
}

export type ReportedFields = Readonly<Record<string, ReportedField<unknown>>>;
type ValueOf<F> = F extends ReportedField<infer T> ? T : never;
/** The fields as they are stored: absent without a value. */
export type Reported<F> = {
  [N in keyof F as F[N] extends { isRequired: true } ? N : never]: ValueOf<F[N]>;
} & { [N in keyof F as F[N] extends { isRequired: true } ? never : N]?: ValueOf<F[N]> };

/** Characters that are not shown, and halves of surrogate pairs; joiners belong to words of some scripts. */
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu;
const LINE_BREAKS = /[\t\n\v\f\r]+/g;
const DECIMAL = /^\d{1,15}(?:\.\d{1,15})?$/;
/** A time of .NET in JSON: milliseconds since 1970. */
const DOT_NET_TIME = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/;
const DAY = /^(\d{4})-?(\d\d)-?(\d\d)(?:T.*)?$/s;

/** @throws ValidationError */
function refuse(path: string, text: string): never {
  throw ValidationError.forField(path || 'body', text);
}

export function required<T>(field: ReportedField<T>): ReportedField<T> & { isRequired: true } {
  return { ...field, isRequired: true };
}

/** Text, without hidden characters and white space around it. A number is read as its text: PowerShell reports versions so. */
export function text(max = 255): ReportedField<string> {
  const read = (value: unknown, path: string) => {
    const raw = typeof value === 'number' ? String(value) : value;
    if (typeof raw !== 'string' || raw.length > 4 * max) refuse(path, `must be text of at most ${max} characters`);
    const clean = raw.replace(LINE_BREAKS, ' ').replace(HIDDEN, '').normalize('NFC').trim();
    if (clean.length > max) refuse(path, `must be text of at most ${max} characters`);
    return clean === '' ? null : clean;
  };
  return { schema: { type: 'string', maxLength: max }, read };
}

export function word<W extends string>(values: readonly W[]): ReportedField<W> {
  const read = (value: unknown, path: string) =>
    values.includes(value as W) ? (value as W) : refuse(path, `must be one of ${values.join(', ')}`);
  return { schema: { type: 'string', enum: [...values] }, read };
}

/** A number of at least 0; digits in text are read as a number. */
export function quantity({ isWhole = false, max = 1e12 } = {}): ReportedField<number> {
  const read = (value: unknown, path: string) => {
    const given = typeof value === 'string' ? value.trim() : value;
    if (given === '') return null;
    const number = typeof given === 'string' && DECIMAL.test(given) ? Number(given) : given;
    if (typeof number === 'number' && number >= 0 && number <= max && (!isWhole || Number.isInteger(number)))
      return number;
    return refuse(path, `must be ${isWhole ? 'an integer' : 'a number'} from 0 to ${max}`);
  };
  return { schema: { type: isWhole ? 'integer' : 'number', minimum: 0, maximum: max }, read };
}

/** True or false; also as text in any case. */
export function flag(): ReportedField<boolean> {
  const read = (value: unknown, path: string) => {
    const given = typeof value === 'string' ? value.trim().toLowerCase() : value;
    if (given === '') return null;
    if (given === true || given === 'true') return true;
    return given === false || given === 'false' ? false : refuse(path, 'must be true or false');
  };
  return { schema: { type: 'boolean' }, read };
}

/** A day, `2026-01-31`. ISO times, `20260131` and times of .NET are read as their day; other texts say nothing. */
export function day(): ReportedField<string> {
  const read = (value: unknown, path: string) => {
    // PowerShell wraps some times: { value: "/Date(…)/", DateTime: "…" }.
    const given = isObject(value) ? value['value'] : value;
    if (typeof given !== 'string' || given.length > 64) refuse(path, 'must be a date as text');
    const time = DOT_NET_TIME.exec(given);
    const [, year, month, date] = DAY.exec(time ? isoOf(Number(time[1])) : given.trim()) ?? [];
    const iso = `${year}-${month}-${date}`;
    return year !== undefined && isoOf(Date.parse(iso)).startsWith(iso) ? iso : null;
  };
  return { schema: { type: 'string', format: 'date' }, read };
}

const isoOf = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : '');

/** A time with an offset, or one of .NET. */
export function time(): ReportedField<Date> {
  const read = (value: unknown, path: string) => {
    const ms = typeof value === 'string' ? DOT_NET_TIME.exec(value)?.[1] : undefined;
    const iso = ms === undefined ? value : isoOf(Number(ms));
    const instant = typeof iso === 'string' && iso.length <= 64 ? parseIsoDateTime(iso) : null;
    return instant ?? refuse(path, 'must be an ISO 8601 date and time with an offset');
  };
  return { schema: { type: 'string', format: 'date-time' }, read };
}

/** Any JSON up to a size. */
export function json(maxBytes: number): ReportedField<unknown> {
  const read = (value: unknown, path: string) => {
    if (isStorableJson(value) && Buffer.byteLength(JSON.stringify(value)) <= maxBytes) return value;
    return refuse(path, `must be JSON of at most ${maxBytes} bytes that can be stored`);
  };
  return { schema: {}, read };
}

/** Texts; one text is a list of one. */
export function texts({ max, maxLength }: { max: number; maxLength: number }): ReportedField<string[]> {
  const item = text(maxLength);
  const read = (value: unknown, path: string) => {
    const items = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(items) || items.length > max) refuse(path, `must be a list of 0 to ${max} items`);
    return items.flatMap((each: unknown, index) => (each === null ? [] : (item.read(each, `${path}.${index}`) ?? [])));
  };
  return { schema: { type: 'array', items: item.schema, maxItems: max }, read };
}

export function object<F extends ReportedFields>(fields: F): ReportedField<Reported<F>> {
  return { schema: schemaOf(fields), read: (value, path) => readFields(fields, value, path) };
}

/** Objects, of which the first `stored` are read; none for null. @param max  beyond it the list is refused */
export function list<F extends ReportedFields>(
  fields: F,
  { max, stored = max }: { max: number; stored?: number },
): ReportedField<Reported<F>[]> {
  const read = (value: unknown, path: string) => {
    const items = itemsOf(value);
    if (items === null || items.length > max) refuse(path, `must be a list of 0 to ${max} items`);
    return items.slice(0, stored).map((item, index) => readFields(fields, item, `${path}.${index}`));
  };
  return { schema: { type: 'array', items: schemaOf(fields), maxItems: max }, ofNull: [], read };
}

/**
 * Returns the items of a list; null for anything else. A nil slice of Go is null. PowerShell writes a list of one item as
 * the item, and some lists as `{ value: [...], Count }`.
 */
export function itemsOf(value: unknown): unknown[] | null {
  if (value === null) return [];
  if (Array.isArray(value)) return value as unknown[];
  if (!isObject(value)) return null;
  return Array.isArray(value['value']) && 'Count' in value ? (value['value'] as unknown[]) : [value];
}

/** Reads the known fields of a document. @throws ValidationError naming the first field that cannot be read */
export function readFields<F extends ReportedFields>(fields: F, value: unknown, path = ''): Reported<F> {
  if (!isObject(value)) refuse(path, 'must be an object');
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const raw = Object.hasOwn(value, name) ? value[name] : undefined;
    const at = path === '' ? name : `${path}.${name}`;
    const result = raw === undefined ? null : raw === null ? (field.ofNull ?? null) : field.read(raw, at);
    if (result !== null) read[name] = result;
    else if (field.isRequired) refuse(at, 'is required');
  }
  return read as Reported<F>;
}

/** Returns the OpenAPI schema of a document with these fields. */
export function schemaOf(fields: ReportedFields): Schema {
  const names = Object.keys(fields).filter((name) => fields[name]?.isRequired);
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, { schema, isRequired, ofNull }]) => [
      name,
      { ...schema, nullable: !isRequired || ofNull !== undefined },
    ]),
  );
  return { type: 'object', properties, ...(names.length > 0 && { required: names }) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
