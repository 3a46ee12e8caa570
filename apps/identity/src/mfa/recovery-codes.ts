import { createHash, randomInt } from 'node:crypto';

const COUNT = 10;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const SHAPE = /^[A-Z0-9]{4}-[A-Z0-9]{4}$/;

/** Creates ten codes `XXXX-XXXX`. Each has 41 bits of entropy, so it is hashed with a pepper and guesses are limited. */
export function newRecoveryCodes(): string[] {
  const codes = new Set<string>();
  while (codes.size < COUNT) codes.add(`${part()}-${part()}`);
  return [...codes];
}

const part = () => Array.from({ length: 4 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Returns the code in the form that is hashed, or null when the text does not have the shape of a code. */
export function normalizeRecoveryCode(input: string): string | null {
  const code = input.trim().toUpperCase();
  return SHAPE.test(code) ? code : null;
}

/** Returns the SHA-256 of pepper, user and code, so that equal codes of two users have different hashes. */
export const hashRecoveryCode = (code: string, userId: string, pepper: string): Buffer =>
  createHash('sha256').update(`${pepper}\0${userId}\0${code}`).digest();
