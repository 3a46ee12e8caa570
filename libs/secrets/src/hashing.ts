import { createHash, timingSafeEqual } from 'node:crypto';

/** SHA-256. For keys with at least 128 random bits only; passwords need Argon2. */
export const hashKey = (key: string): Buffer => createHash('sha256').update(key, 'utf8').digest();

/** SHA-256 of `<pepper>:<key>`. @see CONTRACT.md 4.2 */
export const hashEnrollmentKey = (key: string, pepper: string): Buffer => hashKey(`${pepper}:${key}`);

/** Equal or not, in a time that depends on neither the place of the first difference nor the lengths. */
export function equalInConstantTime(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

const digest = (value: string | Uint8Array) => createHash('sha256').update(value).digest();
