import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';

/** What every field decorator takes. */
export interface FieldOptions {
  description?: string;
  example?: unknown;
  /** The key may be absent. */
  optional?: boolean;
  /** The value may be null. */
  nullable?: boolean;
}

export interface FieldRule extends FieldOptions {
  name: string;
  /** Runs on what came over the wire, before `check`; must pass on what it does not understand. */
  read?: (value: unknown) => unknown;
  check: (value: unknown) => boolean;
  /** After the path: `must be a UUID`. */
  text: string;
  each?: boolean;
  api: ApiPropertyOptions;
}

/** One decorator per notion: reading, checking and API text together. */
export function fieldOf(rule: FieldRule): PropertyDecorator {
  const { optional = false, nullable = false, description, example, read } = rule;
  const api = { ...rule.api, description, example, required: !optional, nullable } as ApiPropertyOptions;
  return applyDecorators(
    ApiProperty(api),
    ...(read ? [Transform(({ value }) => read(value))] : []),
    ...(optional || nullable
      ? [ValidateIf((_, value) => !((optional && value === undefined) || (nullable && value === null)))]
      : []),
    ValidateBy(
      { name: rule.name, validator: { validate: rule.check, defaultMessage: () => rule.text } },
      { each: rule.each },
    ),
  );
}
