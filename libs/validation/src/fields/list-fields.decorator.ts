import type { Type } from '@nestjs/common';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  isObject,
  IsObject,
  IsUUID,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import type { ValidationOptions } from 'class-validator';
import { isUuid } from '../input/parse-uuid.pipe.js';
import type { ItemContext } from '../input/validation-error.mapper.js';
import { parseCidr } from '../values/cidr.js';
import { isStorableText } from '../values/storable.js';
import { field, type FieldOptions } from './field.decorator.js';
import { lowerUuid } from './value-fields.decorator.js';

interface ListOptions extends FieldOptions {
  min?: number;
  max?: number;
}

function validateSize({ min = 0, max = 1_000 }: ListOptions): PropertyDecorator[] {
  const message = `must be a list of ${min} to ${max} items`;
  return [IsArray({ message }), ArrayMinSize(min, { message }), ArrayMaxSize(max, { message })];
}

/** The options of an item validator. Its check is run again to name the bad items by their index. */
function eachItem(message: string, isValid: (item: unknown) => boolean): ValidationOptions {
  return { each: true, message, context: { isValid } satisfies ItemContext };
}

/** Duplicates collapse silently; the order of first appearance is kept. */
function wordsOf(
  { min = 0, max = 1_000, ...options }: ListOptions,
  items: Record<string, unknown>,
  itemValidator: PropertyDecorator,
  readItem = (item: unknown) => item,
): PropertyDecorator {
  const read = (value: unknown) => (Array.isArray(value) ? [...new Set(value.map(readItem))] : value);
  const api = { type: 'array', items, minItems: min, maxItems: max } as never;
  return field({ ...options, query: 'array', read, api }, ...validateSize({ min, max }), itemValidator);
}

/** Ids. */
export function IsUuidList(options: ListOptions = {}): PropertyDecorator {
  return wordsOf(
    options,
    { type: 'string', format: 'uuid' },
    IsUUID('loose', eachItem('must be a UUID', isUuid)),
    lowerUuid,
  );
}

/** Words: scopes, event types. `values` names those that are allowed. */
export function IsWordList({
  values,
  maxLength = 255,
  ...options
}: ListOptions & { values?: readonly string[]; maxLength?: number } = {}): PropertyDecorator {
  if (values) {
    const isKnown = (item: unknown) => values.includes(item as string);
    const items = { type: 'string', enum: [...values] };
    return wordsOf(options, items, IsIn(values, eachItem(`must be one of ${values.join(', ')}`, isKnown)));
  }
  const isWord = (item: unknown) =>
    typeof item === 'string' && item.length > 0 && item.length <= maxLength && isStorableText(item);
  const validator = { validate: isWord };
  return wordsOf(
    options,
    { type: 'string', maxLength },
    ValidateBy({ name: 'isWord', validator }, eachItem(`must be text of 1 to ${maxLength} characters`, isWord)),
  );
}

/** Address ranges. */
export function IsCidrList(options: ListOptions = {}): PropertyDecorator {
  const isCidr = (item: unknown) => typeof item === 'string' && parseCidr(item) !== null;
  const validator = { validate: isCidr };
  const isRange = ValidateBy({ name: 'isCidr', validator }, eachItem('must be a CIDR range', isCidr));
  return wordsOf(options, { type: 'string' }, isRange);
}

/** An object with its own DTO class. Nest recognizes a lazy type by the name of the function, hence `type: () => type()`. */
export function IsNested(type: () => Type<object>, options: FieldOptions = {}): PropertyDecorator {
  const message = 'must be an object';
  return field(
    { ...options, nested: type, api: { type: () => type() } },
    IsObject({ message }),
    ValidateNested({ message }),
  );
}

/** A list of objects with their own DTO class; problems are named `rows.3.timezone`. */
export function IsNestedList(
  type: () => Type<object>,
  { min = 0, max = 1_000, ...options }: ListOptions = {},
): PropertyDecorator {
  return field(
    {
      ...options,
      query: 'array',
      nested: type,
      api: { type: () => type(), isArray: true, minItems: min, maxItems: max },
    },
    ...validateSize({ min, max }),
    IsObject(eachItem('must be an object', isObject)),
    ValidateNested({ each: true }),
  );
}
