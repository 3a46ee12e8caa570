import { createHash, timingSafeEqual } from 'node:crypto';

/** Returns the SHA-256 of a key with at least 128 random bits. Not for passwords, which need Argon2. */
export const hashKey = (key: string): Buffer => createHash('sha256').update(key, 'utf8').digest();

/** Returns the SHA-256 of `<pepper>:<key>`. */
export const hashEnrollmentKey = (key: string, pepper: string): Buffer => hashKey(`${pepper}:${key}`);

/** Compares in a time that depends neither on the position of the first difference nor on the lengths. */
export function equalInConstantTime(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

const digest = (value: string | Uint8Array) => createHash('sha256').update(value).digest();
