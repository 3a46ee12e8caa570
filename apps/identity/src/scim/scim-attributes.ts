import { ScimBadRequest } from './scim.errors.js';

/** A JSON object of a request, whose names are of any case. */
export type ScimObject = Readonly<Record<string, unknown>>;

const MAX_TEXT = 255;
/** Control characters, lone surrogates, and characters that change how a name reads. */
const UNSAFE = /[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;

export function toScimObject(value: unknown, name: string): ScimObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ScimObject;
  throw new ScimBadRequest('invalidSyntax', `${name} must be an object`);
}

/** Returns an attribute by its name in any case; undefined for an absent one, and for null. */
export function attributeOf(object: ScimObject, name: string): unknown {
  const wanted = name.toLowerCase();
  const [, value] = Object.entries(object).find(([key]) => key.toLowerCase() === wanted) ?? [];
  return value ?? undefined;
}

/** Returns a text without the spaces around it; null when it is absent or empty. @throws ScimBadRequest invalidValue */
export function textOf(object: ScimObject, name: string): string | null {
  const value = attributeOf(object, name);
  if (value === undefined) return null;
  if (typeof value !== 'string') throw new ScimBadRequest('invalidValue', `${name} must be a text`);
  const text = value.trim();
  if (text.length > MAX_TEXT) throw new ScimBadRequest('invalidValue', `${name} is longer than ${MAX_TEXT} characters`);
  if (UNSAFE.test(text)) throw new ScimBadRequest('invalidValue', `${name} contains control characters`);
  return text === '' ? null : text;
}

/** Returns a boolean, which Entra ID sends as text. @throws ScimBadRequest invalidValue */
export function flagOf(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ScimBadRequest('invalidValue', `${name} must be true or false`);
}
