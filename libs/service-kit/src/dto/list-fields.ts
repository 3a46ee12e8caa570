import { applyDecorators, type Type } from '@nestjs/common';
import { Type as NestedType } from 'class-transformer';
import { ValidateBy, ValidateNested } from 'class-validator';
import { parseCidr } from '../config/cidr.js';
import { noteKind } from '../validation/field-kind.js';
import { isUuid } from '../validation/parse-uuid-or-404.pipe.js';
import { type FieldOptions, fieldOf } from './field.js';
import { isStorableText } from './storable.js';

interface ListOptions extends FieldOptions {
  min?: number;
  max?: number;
}

interface ItemRule {
  name: string;
  check: (item: unknown) => boolean;
  text: string;
  /** On each item, before duplicates collapse. */
  read?: (item: unknown) => unknown;
  api: Record<string, unknown>;
}

/** Duplicates collapse silently, the order of first appearance is kept; a bad item is named by its index. */
function listOf(item: ItemRule, { min = 0, max = 1_000, ...options }: ListOptions): PropertyDecorator {
  const collapse = (value: unknown) =>
    Array.isArray(value) ? [...new Set(value.map((entry: unknown) => item.read?.(entry) ?? entry))] : value;
  return applyDecorators(
    noteKind('array'),
    ValidateBy(
      { name: `${item.name}Item`, validator: { validate: (v) => item.check(v), defaultMessage: () => item.text } },
      { each: true, validateIf: (_, value) => Array.isArray(value) },
    ),
    fieldOf({
      ...options,
      name: item.name,
      read: collapse,
      check: (value) => Array.isArray(value) && value.length >= min && value.length <= max,
      text: `must be a list of ${min} to ${max} items`,
      api: { type: 'array', items: item.api, minItems: min, maxItems: max } as never,
    }),
  );
}

/** Ids. */
export function IsUuidList(options: ListOptions = {}): PropertyDecorator {
  return listOf(
    {
      name: 'isUuidList',
      check: isUuid,
      text: 'must be a UUID',
      read: (item) => (isUuid(item) ? item.toLowerCase() : item),
      api: { type: 'string', format: 'uuid' },
    },
    options,
  );
}

/** Words: scopes, event types. `values` names those that are allowed. */
export function IsWordList({
  values,
  maxLength = 255,
  ...options
}: ListOptions & { values?: readonly string[]; maxLength?: number } = {}): PropertyDecorator {
  const known = values && new Set<unknown>(values);
  return listOf(
    {
      name: 'isWordList',
      check: (item) =>
        typeof item === 'string' &&
        item.length > 0 &&
        item.length <= maxLength &&
        isStorableText(item) &&
        (known?.has(item) ?? true),
      text: values ? `must be one of ${values.join(', ')}` : `must be text of 1 to ${maxLength} characters`,
      api: values ? { type: 'string', enum: [...values] } : { type: 'string', maxLength },
    },
    options,
  );
}

/** Address ranges. */
export function IsCidrList(options: ListOptions = {}): PropertyDecorator {
  return listOf(
    {
      name: 'isCidrList',
      check: (item) => typeof item === 'string' && parseCidr(item) !== null,
      text: 'must be a CIDR range',
      api: { type: 'string' },
    },
    options,
  );
}

/** An object with a DTO class of its own. Nest knows a lazy type by the name of the function, hence `type: () => type()`. */
export function IsNested(type: () => Type<object>, options: FieldOptions = {}): PropertyDecorator {
  return applyDecorators(
    NestedType(type),
    ValidateNested(),
    fieldOf({
      ...options,
      name: 'isNested',
      check: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      text: 'must be an object',
      api: { type: () => type() },
    }),
  );
}

/** A list of objects with a DTO class of their own; problems are named `rows.3.timezone`. */
export function IsNestedList(type: () => Type<object>, options: ListOptions = {}): PropertyDecorator {
  const { min = 0, max = 1_000, ...rest } = options;
  return applyDecorators(
    noteKind('array'),
    NestedType(type),
    ValidateNested({ each: true }),
    fieldOf({
      ...rest,
      name: 'isNestedList',
      check: (value) => Array.isArray(value) && value.length >= min && value.length <= max,
      text: `must be a list of ${min} to ${max} items`,
      api: { type: () => type(), isArray: true, minItems: min, maxItems: max },
    }),
  );
}
