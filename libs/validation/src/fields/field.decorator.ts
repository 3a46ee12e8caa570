import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ValidateBy, ValidateIf } from 'class-validator';
import { declareField, type FieldReader } from '../input/create-dto.js';

/** Options of every field decorator. */
export interface FieldOptions {
  description?: string;
  example?: unknown;
  /** The key may be absent. */
  optional?: boolean;
  /** The value may be null. */
  nullable?: boolean;
}

interface FieldDeclaration extends FieldOptions, FieldReader {
  api: ApiPropertyOptions;
}

/** Composes a field decorator: how the value is read, its validators in order, and its OpenAPI schema. */
export function field(declaration: FieldDeclaration, ...validators: PropertyDecorator[]): PropertyDecorator {
  const { optional = false, nullable = false, description, example, api, read, query, nested } = declaration;
  const isAbsent = (value: unknown) => (optional && value === undefined) || (nullable && value === null);
  return applyDecorators(
    ApiProperty({ ...api, description, example, required: !optional, nullable } as ApiPropertyOptions),
    declareField({ read, query, nested }),
    ...(optional || nullable ? [ValidateIf((_, value) => !isAbsent(value))] : []),
    ...validators,
  );
}

export interface FieldRule extends FieldOptions {
  name: string;
  /** Runs on the received value before `check`; must return what it does not understand. */
  read?: (value: unknown) => unknown;
  check: (value: unknown) => boolean;
  /** After the path: `must be a UUID`. */
  text: string;
  api: ApiPropertyOptions;
}

/** Declares a field with one check of its own, where class-validator has none. */
export function fieldOf({ name, check, text, ...declaration }: FieldRule): PropertyDecorator {
  return field(declaration, validateBy(name, check, text));
}

/** Returns a validator of one check, reported as `text`. */
export function validateBy(name: string, check: (value: unknown) => boolean, text: string): PropertyDecorator {
  return ValidateBy({ name, validator: { validate: check, defaultMessage: () => text } });
}
