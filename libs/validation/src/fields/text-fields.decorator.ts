import { isEmail, IsIn, Matches } from 'class-validator';
import { isStorableText } from '../values/storable.js';
import { isTimeZone } from '../values/time-zone.js';
import { field, type FieldOptions, fieldOf, validateBy } from './field.decorator.js';

interface TextOptions extends FieldOptions {
  /** In characters, after trimming. */
  min?: number;
  max?: number;
  pattern?: RegExp;
}

/**
 * Control characters, separators of lines, and characters that are not shown: of no width, or to change the direction of
 * text. They make names look like others. Joiners are allowed after letters of scripts that need them and in emoji.
 */
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?<![\p{M}\p{So}\p{Sk}\p{Lo}])[\u200c\u200d]/u;
const hasNoHiddenCharacters = (value: unknown) => typeof value === 'string' && !HIDDEN.test(value);
const ASCII_DOMAIN = /@[\x21-\x7e]+$/;

/** Composed (NFC), as names are stored and compared: composing may lengthen a text, so it comes before the length check. */
const normalize = (value: unknown) => (typeof value === 'string' ? value.normalize('NFC').trim() : value);

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

/** A name: composed (NFC), trimmed, without control and hidden characters, 1 to 255 characters unless said otherwise. */
export function IsName({ min = 1, max = 255, pattern, ...options }: TextOptions = {}): PropertyDecorator {
  const text = { min, max, pattern };
  return field(
    { ...options, read: normalize, api: textSchema(text) },
    ...validateText(text),
    validateBy('hasNoHiddenCharacters', hasNoHiddenCharacters, 'must not contain control characters'),
  );
}

/** Free text, kept as it is: descriptions, passwords, codes, tokens. Text that no column can store is refused. */
export function IsText({ min = 0, max = 10_000, pattern, ...options }: TextOptions = {}): PropertyDecorator {
  const text = { min, max, pattern };
  return field({ ...options, api: textSchema(text) }, ...validateText(text));
}

/** Surrogates are checked before `isEmail`, which throws URIError for half of a pair. */
const isAddress = (value: unknown) =>
  typeof value === 'string' &&
  value.length <= 255 &&
  isStorableText(value) &&
  isEmail(value) &&
  hasNoHiddenCharacters(value) &&
  ASCII_DOMAIN.test(value);

/** An e-mail address: trimmed, lower-cased, at most 255 characters, with an ASCII domain. */
export function IsEmailAddress(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isEmailAddress',
    read: (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value),
    check: isAddress,
    text: 'must be an e-mail address of at most 255 characters',
    api: { type: String, format: 'email', maxLength: 255 },
  });
}

/** A cursor of a list: any text, since only the list knows whether a cursor is valid (400 `invalid_cursor`). */
export function IsCursor(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isCursor',
    check: (value) => typeof value === 'string',
    text: 'must be a text, given once',
    api: { type: String },
  });
}

/** A time zone. */
export function IsTimeZone(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    description: 'IANA name',
    example: 'Europe/Berlin',
    ...options,
    name: 'isTimezone',
    check: (value) => typeof value === 'string' && isTimeZone(value),
    text: 'must be an IANA time zone',
    api: { type: String },
  });
}

/** One of the words. */
export function IsOneOf(values: readonly string[], options: FieldOptions = {}): PropertyDecorator {
  return field(
    { ...options, api: { type: String, enum: [...values] } },
    IsIn(values, { message: `must be one of ${values.join(', ')}` }),
  );
}
