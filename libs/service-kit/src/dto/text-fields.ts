import { type FieldOptions, fieldOf } from './field.js';
import { isStorableText } from './storable.js';

interface TextOptions extends FieldOptions {
  /** In characters, after trimming. */
  min?: number;
  max?: number;
  pattern?: RegExp;
}

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const EMAIL = /^[^\s@<>()[\],;:\\"]{1,64}@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/;

const trim = (value: unknown) => (typeof value === 'string' ? value.trim() : value);
const isTextOf = (value: unknown, min: number, max: number): value is string =>
  typeof value === 'string' && value.length >= min && value.length <= max && isStorableText(value);

/** A name: trimmed, without control characters, 1 to 255 characters unless said otherwise. */
export function IsName({ min = 1, max = 255, pattern, ...options }: TextOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isName',
    read: trim,
    check: (value) => isTextOf(value, min, max) && !CONTROL.test(value) && (pattern?.test(value) ?? true),
    text: `must be text of ${min} to ${max} characters${pattern ? ` matching ${pattern.source}` : ''}`,
    api: { type: String, minLength: min, maxLength: max, pattern: pattern?.source },
  });
}

/** Free text, kept as it is: descriptions, passwords, codes, tokens. What no column can hold is refused. */
export function IsText({ min = 0, max = 10_000, pattern, ...options }: TextOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isText',
    check: (value) => isTextOf(value, min, max) && (pattern?.test(value) ?? true),
    text: `must be text of ${min} to ${max} characters${pattern ? ` matching ${pattern.source}` : ''}`,
    api: { type: String, minLength: min, maxLength: max, pattern: pattern?.source },
  });
}

/** An e-mail address: trimmed, lower-cased, at most 255 characters. */
export function IsEmailAddress(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isEmailAddress',
    read: (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value),
    check: (value) => typeof value === 'string' && value.length <= 255 && isStorableText(value) && EMAIL.test(value),
    text: 'must be an e-mail address of at most 255 characters',
    api: { type: String, format: 'email', maxLength: 255 },
  });
}

/** One of the words. */
export function IsOneOf(values: readonly string[], options: FieldOptions = {}): PropertyDecorator {
  const known = new Set<unknown>(values);
  return fieldOf({
    ...options,
    name: 'isOneOf',
    check: (value) => known.has(value),
    text: `must be one of ${values.join(', ')}`,
    api: { type: String, enum: [...values] },
  });
}

/** An absolute http or https URL. Whether it may be called is for libs/outbound to say. */
export function IsHttpUrl({ max = 2048, ...options }: FieldOptions & { max?: number } = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isHttpUrl',
    read: trim,
    check: (value) =>
      typeof value === 'string' &&
      value.length <= max &&
      URL.canParse(value) &&
      /^https?:$/.test(new URL(value).protocol),
    text: `must be an http or https URL of at most ${max} characters`,
    api: { type: String, format: 'uri', maxLength: max },
  });
}
