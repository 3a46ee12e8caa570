import { passwordMinLength, type PolicyOwners } from '../security-policy/security.policy.js';
import { PasswordEstimator } from './password-estimator.js';
import { WeakPassword } from './password.errors.js';

/** Longer input is refused before a hash is computed. */
export const MAX_PASSWORD_INPUT = 1024;

const MIN_LENGTH = 8;
const MAX_LENGTH = 128;
const MIN_SCORE = 2;
/** Shorter parts of an address or name are ignored. */
const SHORTEST_CONTEXT_WORD = 4;
const PRODUCT_WORDS = ['rmm'];

export interface PasswordOwner {
  email: string;
  name?: string;
  /** Memberships of the user; the strictest policy counts. @see passwordMinLength */
  memberships?: readonly PolicyOwners[];
}

let estimator: Promise<PasswordEstimator> | null = null;

/**
 * Checks a new password against the rules, in order: 8 to 128 characters, or more where a tenant of the owner requires
 * it; not a common password; not the owner's e-mail address, its local part or name; not guessable (zxcvbn score 2 or
 * more for its first 24 characters). There is no composition rule.
 * @throws WeakPassword  with the first rule violated; HashingOverloaded when too many callers wait
 */
export async function assertStrongPassword(password: string, owner: PasswordOwner): Promise<void> {
  const length = [...password].length;
  const minLength = Math.max(MIN_LENGTH, passwordMinLength(owner.memberships ?? []));
  if (length < minLength) throw new WeakPassword(`Password must have at least ${minLength} characters`);
  if (length > MAX_LENGTH) throw new WeakPassword(`Password must have at most ${MAX_LENGTH} characters`);

  // The word lists are loaded when the first password is chosen, not at start.
  const estimate = await (estimator ??= PasswordEstimator.load());
  if (estimate.isCommon(password)) throw new WeakPassword('Password is too common');

  const context = contextWords(owner);
  const lower = password.toLowerCase();
  if (context.some((word) => lower === word || (word.length * 2 > lower.length && lower.includes(word)))) {
    throw new WeakPassword('Password must not be your e-mail address or name');
  }
  if ((await estimate.score(password, context)) < MIN_SCORE) throw new WeakPassword('Password is too easy to guess');
}

/** Returns the words of the owner that a password may not consist of, in lower case. */
function contextWords({ email, name = '' }: PasswordOwner): string[] {
  const lower = email.toLowerCase();
  const words = [lower, lower.split('@')[0] ?? '', name.toLowerCase(), name.toLowerCase().replaceAll(' ', '')];
  return [...new Set([...words, ...PRODUCT_WORDS])].filter((word) => word.length >= SHORTEST_CONTEXT_WORD);
}
