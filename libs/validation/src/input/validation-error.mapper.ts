import type { ValidationError as ClassValidatorError } from 'class-validator';
import { type FieldErrors, ValidationError } from '@rmm/errors';

/** The `context` of a validator with `each`, which names only the property: finds the bad items again. */
export interface ItemContext {
  isValid: (item: unknown) => boolean;
}

/** Problems beyond this number are not listed, so that a hostile body does not cause a huge response. */
const MAX_PROBLEMS = 100;

/** Translates the result of class-validator to 400 `validation_failed`: one text for each dotted path. */
export function toValidationError(errors: readonly ClassValidatorError[]): ValidationError {
  const problems: [string, string][] = [];
  collect(errors, '', problems);
  const fieldErrors: FieldErrors = {};
  for (const [path, text] of problems.slice(0, MAX_PROBLEMS)) (fieldErrors[path] ??= []).push(text);
  return new ValidationError(undefined, { fieldErrors });
}

function collect(errors: readonly ClassValidatorError[], prefix: string, problems: [string, string][]): void {
  for (const { property, value, constraints, contexts, children } of errors) {
    if (problems.length >= MAX_PROBLEMS) return;
    const path = prefix + property;
    const [[name, message] = []] = Object.entries(constraints ?? {});
    if (name !== undefined && message !== undefined) {
      const items = Array.isArray(value) ? (contexts?.[name] as ItemContext | undefined) : undefined;
      if (items) {
        (value as unknown[]).forEach((item, index) => {
          if (!items.isValid(item)) problems.push([`${path}.${index}`, message]);
        });
      } else problems.push([path, name === 'whitelistValidation' ? 'unknown field' : withoutName(message, property)]);
    }
    if (children) collect(children, `${path}.`, problems);
  }
}

/** `size must not be greater than 5` reads `must not be greater than 5`: the path names the property. */
function withoutName(message: string, property: string): string {
  return message.replace(`each value in ${property} `, '').replace(new RegExp(`^${property} `), '');
}
