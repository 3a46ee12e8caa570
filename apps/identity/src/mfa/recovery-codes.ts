import { createHash, randomInt } from 'node:crypto';

const COUNT = 10;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const SHAPE = /^[A-Z0-9]{4}-[A-Z0-9]{4}$/;

/** Ten codes `XXXX-XXXX`, shown once. Each has 41 bits, so it is hashed with a pepper and guesses are limited. */
export function newRecoveryCodes(): string[] {
  const codes = new Set<string>();
  while (codes.size < COUNT) codes.add(`${part()}-${part()}`);
  return [...codes];
}

const part = () => Array.from({ length: 4 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** The code as it is hashed, or null when the text has not the shape of one. */
export function normalizeRecoveryCode(input: string): string | null {
  const code = input.trim().toUpperCase();
  return SHAPE.test(code) ? code : null;
}

/** SHA-256 of pepper and code; bound to the user, so that equal codes of two users do not look alike. */
export const hashRecoveryCode = (code: string, userId: string, pepper: string): Buffer =>
  createHash('sha256').update(`${pepper}\0${userId}\0${code}`).digest();
