import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { isObject } from 'class-validator';
import { type FieldErrors, ValidationError } from '@rmm/errors';

/**
 * In a query text becomes numbers and booleans. Unknown parameters are ignored, but for those that would filter, sort or
 * page: a response that ignored them would show other records than were asked for.
 */
export type DtoSource = 'body' | 'query';

/** Reads the value of a field before it is validated. */
export interface FieldReader {
  /** Must return values it does not understand. */
  read?: (value: unknown) => unknown;
  /** Type that the text of a query parameter is converted to. */
  query?: 'number' | 'boolean' | 'array';
  /** The DTO class of a nested object, or of the items of a list. */
  nested?: () => Type<object>;
}

const FIELDS = Symbol('FIELDS');
const OPEN = Symbol('OPEN');
/** Words of the parameters that choose records, in the API and in others. */
const SELECTING =
  /^(q|query|search|filters?|where|cursor|after|before|offset|skip|take|page|limit|perPage|pageSize|sort(By|Dir)?|order(By|Dir)?|dir|include|fields|from|to|since|until|action|status|type|role|expired|name|email|eventType|result|created(After|Before|At)|updated(After|Before|Since|At)|[a-zA-Z]+Ids?|osType|resourceType)$/;
const MAX_DEPTH = 32;
/** Takes the place of a nested value that is no object, so that validation reports it and goes no deeper. */
const NOT_AN_OBJECT = Symbol('NOT_AN_OBJECT');

type Plain = Record<string, unknown>;
type Fields = ReadonlyMap<string | symbol, FieldReader>;

export function declareField(reader: FieldReader): PropertyDecorator {
  return (target, property) => {
    const inherited = Reflect.getMetadata(FIELDS, target) as Fields | undefined;
    Reflect.defineMetadata(FIELDS, new Map([...(inherited ?? []), [property, reader]]), target);
  };
}

/** Ignores unknown fields of the DTO, as in documents of agents older or newer than the fleet. */
export function OpenDocument(): ClassDecorator {
  return (target) => Reflect.defineMetadata(OPEN, true, target);
}

/**
 * Creates an instance of a DTO class that is still to be validated. Unknown fields of a body are copied, for validation
 * to refuse them.
 * @throws ValidationError  when a field has a name of Object.prototype
 */
export function createDto(type: Type<object>, plain: object, source: DtoSource, depth = 0): object {
  const fields = (Reflect.getMetadata(FIELDS, type.prototype as object) ?? new Map()) as Fields;
  const keepsUnknown = source === 'body' && Reflect.getMetadata(OPEN, type) !== true;
  const dto = new type() as Plain;
  const names = Object.keys(plain);
  const reserved = names.filter((name) => name in Object.prototype);
  if (keepsUnknown && reserved.length > 0) throw unknownFields(reserved);
  if (source === 'query') assertServed(names.filter((name) => !fields.has(name)));
  for (const name of names) {
    const reader = fields.get(name);
    if (reader) dto[name] = readField(reader, (plain as Plain)[name], source, depth);
    else if (keepsUnknown) dto[name] = (plain as Plain)[name];
  }
  return dto;
}

/** @throws ValidationError for parameters that would choose records */
function assertServed(unknown: readonly string[]): void {
  const selecting = unknown.filter((name) => SELECTING.test(name));
  if (selecting.length === 0) return;
  const fieldErrors: FieldErrors = Object.fromEntries(selecting.map((name) => [name, ['is not supported here']]));
  throw new ValidationError(undefined, { fieldErrors });
}

function readField({ read, query, nested }: FieldReader, raw: unknown, source: DtoSource, depth: number): unknown {
  let value = source === 'query' && query ? fromText(query, raw) : raw;
  if (read) value = read(value);
  if (!nested || value === null || value === undefined) return value;
  const create = (item: unknown) =>
    isObject(item) && depth < MAX_DEPTH ? createDto(nested(), item, source, depth + 1) : NOT_AN_OBJECT;
  return Array.isArray(value) ? value.map(create) : create(value);
}

function fromText(kind: NonNullable<FieldReader['query']>, raw: unknown): unknown {
  if (kind === 'array') return (Array.isArray(raw) ? raw : [raw]).flatMap(splitAtCommas);
  if (typeof raw !== 'string') return raw;
  if (kind === 'number') return /^\d{1,15}$/.test(raw) ? Number(raw) : raw;
  return raw === 'true' ? true : raw === 'false' ? false : raw;
}

/** A list in a query is comma-separated, repeated, or both. */
const splitAtCommas = (item: unknown) => (typeof item === 'string' ? item.split(',') : [item]);

function unknownFields(names: string[]): ValidationError {
  const fieldErrors: FieldErrors = Object.fromEntries(names.map((name) => [name, ['unknown field']]));
  return new ValidationError(undefined, { fieldErrors });
}
