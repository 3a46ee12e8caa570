import { BadRequestError } from '@rmm/service-kit';
import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { passwordMinLength, type PolicyOwners } from '../security-policy/security-policy.js';

const MIN_LENGTH = 8;
const MAX_LENGTH = 128;
const MIN_SCORE = 2;
/** Parts of an address or name shorter than this say nothing about a password. */
const SHORTEST_CONTEXT_WORD = 4;
const PRODUCT_WORDS = ['rmm'];

/** The first violated rule is what the caller reads. @see CONTRACT.md 4.7 */
export class WeakPassword extends BadRequestError {
  override code = 'weak_password';
}

export interface PasswordOwner {
  email: string;
  name?: string;
  /** What the user belongs to; the strictest of their wishes counts. @see passwordMinLength */
  memberships?: readonly PolicyOwners[];
}

interface Estimator {
  score(password: string, context: string[]): number;
  isCommon(password: string): boolean;
}

let estimator: Promise<Estimator> | null = null;

/** The word lists cost some 30 MB: they are loaded when the first password is chosen, not at start. */
function loadEstimator(): Promise<Estimator> {
  estimator ??= (async () => {
    const [{ ZxcvbnFactory: Factory }, { adjacencyGraphs, dictionary }] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
    ]);
    const zxcvbn: ZxcvbnFactory = new Factory({ dictionary, graphs: adjacencyGraphs });
    const common = new Set(dictionary['passwords-common'].map((word) => word.toLowerCase()));
    return {
      score: (password, context) => zxcvbn.check(password, context).score,
      isCommon: (password) => common.has(password.toLowerCase()),
    };
  })();
  return estimator;
}

/**
 * The rules for a password somebody chooses, in order: 8 characters, or more where the owner's tenants ask for more, to
 * 128, not a common one, not the owner's e-mail, its local part or name, not guessable (zxcvbn 2 or more). No
 * composition rule.
 * @throws WeakPassword  with the first rule violated
 */
export async function assertStrongPassword(password: string, owner: PasswordOwner): Promise<void> {
  const length = [...password].length;
  const minLength = Math.max(MIN_LENGTH, passwordMinLength(owner.memberships ?? []));
  if (length < minLength) throw new WeakPassword(`Password must have at least ${minLength} characters`);
  if (length > MAX_LENGTH) throw new WeakPassword(`Password must have at most ${MAX_LENGTH} characters`);

  const estimate = await loadEstimator();
  if (estimate.isCommon(password)) throw new WeakPassword('Password is too common');

  const context = contextWords(owner);
  const lower = password.toLowerCase();
  if (context.some((word) => lower === word || (word.length * 2 > lower.length && lower.includes(word)))) {
    throw new WeakPassword('Password must not be your e-mail address or name');
  }
  if (estimate.score(password, context) < MIN_SCORE) throw new WeakPassword('Password is too easy to guess');
}

/** The words of the owner a password may not consist of, lower-cased. */
function contextWords({ email, name = '' }: PasswordOwner): string[] {
  const lower = email.toLowerCase();
  const words = [lower, lower.split('@')[0] ?? '', name.toLowerCase(), name.toLowerCase().replaceAll(' ', '')];
  return [...new Set([...words, ...PRODUCT_WORDS])].filter((word) => word.length >= SHORTEST_CONTEXT_WORD);
}
