import { IsEmail, IsIn, Matches, MaxLength } from 'class-validator';
import { isStorableText } from '../values/storable.js';
import { field, type FieldOptions, fieldOf, validateBy } from './field.decorator.js';

interface TextOptions extends FieldOptions {
  /** In characters, after trimming. */
  min?: number;
  max?: number;
  pattern?: RegExp;
}

// eslint-disable-next-line no-control-regex
const WITHOUT_CONTROL_CHARACTERS = /^[^\u0000-\u001f\u007f-\u009f]*$/;
const ASCII_DOMAIN = /@[\x21-\x7e]+$/;

const trim = (value: unknown) => (typeof value === 'string' ? value.trim() : value);

/** Counts UTF-16 units as columns' limits allow; class-validator's `Length` leaves variation selectors uncounted. */
function validateText({ min = 0, max = 10_000, pattern }: TextOptions): PropertyDecorator[] {
  const hasLength = (value: unknown) => typeof value === 'string' && value.length >= min && value.length <= max;
  return [
    validateBy('isTextOfLength', hasLength, `must be text of ${min} to ${max} characters`),
    validateBy(
      'isStorableText',
      (value) => isStorableText(value as string),
      'must not contain NUL or half of a surrogate pair',
    ),
    ...(pattern ? [Matches(pattern, { message: `must match ${pattern.source}` })] : []),
  ];
}

const textSchema = ({ min, max, pattern }: TextOptions) => ({
  type: String,
  minLength: min,
  maxLength: max,
  pattern: pattern?.source,
});

/** A name: trimmed, without control characters, 1 to 255 characters unless said otherwise. */
export function IsName({ min = 1, max = 255, pattern, ...options }: TextOptions = {}): PropertyDecorator {
  const text = { min, max, pattern };
  return field(
    { ...options, read: trim, api: textSchema(text) },
    ...validateText(text),
    Matches(WITHOUT_CONTROL_CHARACTERS, { message: 'must not contain control characters' }),
  );
}

/** Free text, kept as it is: descriptions, passwords, codes, tokens. Text that no column can store is refused. */
export function IsText({ min = 0, max = 10_000, pattern, ...options }: TextOptions = {}): PropertyDecorator {
  const text = { min, max, pattern };
  return field({ ...options, api: textSchema(text) }, ...validateText(text));
}

/** An e-mail address: trimmed, lower-cased, at most 255 characters, with an ASCII domain. */
export function IsEmailAddress(options: FieldOptions = {}): PropertyDecorator {
  const message = 'must be an e-mail address of at most 255 characters';
  return field(
    {
      ...options,
      read: (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value),
      api: { type: String, format: 'email', maxLength: 255 },
    },
    IsEmail({}, { message }),
    MaxLength(255, { message }),
    Matches(ASCII_DOMAIN, { message }),
  );
}

/** One of the words. */
export function IsOneOf(values: readonly string[], options: FieldOptions = {}): PropertyDecorator {
  return field(
    { ...options, api: { type: String, enum: [...values] } },
    IsIn(values, { message: `must be one of ${values.join(', ')}` }),
  );
}

/** An absolute http or https URL, read by the parser that requests use. libs/outbound decides whether it may be called. */
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
