import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { HashingOverloaded } from './password.errors.js';

/**
 * Characters of a password that are scored. The cost of zxcvbn grows with the square of the length: 128 hostile
 * characters take up to a second, 24 take 2 to 4 ms. The rest of a longer password can only make it harder to guess.
 */
export const SCORED_CHARACTERS = 24;
/** Variants of replaced characters (`p4$$w0rd`) that zxcvbn tries; its default of 100 costs seven times as much. */
const MAX_SUBSTITUTIONS = 8;
/** Callers that wait for a score; more than the limits of all routes that choose a password let through. */
const MAX_WAITING = 200;

type Score = (password: string, context: string[]) => number;

/**
 * Scores passwords on the event loop without blocking it: the input is bounded, and one password is scored in an
 * iteration of the loop, however many callers wait.
 */
export class PasswordEstimator {
  private waiting = 0;
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly scoreOf: Score,
    private readonly common: ReadonlySet<string>,
  ) {}

  /** Loads the word lists, about 30 MB. */
  static async load(): Promise<PasswordEstimator> {
    const [{ ZxcvbnFactory: Factory }, { adjacencyGraphs, dictionary }] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
    ]);
    const zxcvbn: ZxcvbnFactory = new Factory({
      dictionary,
      graphs: adjacencyGraphs,
      l33tMaxSubstitutions: MAX_SUBSTITUTIONS,
      maxLength: SCORED_CHARACTERS * 2, // UTF-16 units: a character may have two
    });
    const common = new Set(dictionary['passwords-common'].map((word) => word.toLowerCase()));
    return new PasswordEstimator((password, context) => zxcvbn.check(password, context).score, common);
  }

  /** Returns true for a password of the list of common ones. */
  isCommon(password: string): boolean {
    return this.common.has(password.toLowerCase());
  }

  /**
   * Returns the zxcvbn score (0 to 4) of the first 24 characters.
   * @param context  words that are easy to guess for this owner
   * @throws HashingOverloaded when too many callers wait
   */
  async score(password: string, context: string[]): Promise<number> {
    if (this.waiting >= MAX_WAITING) throw new HashingOverloaded();
    this.waiting += 1;
    const ready = this.last.then(() => nextIteration());
    this.last = ready;
    try {
      await ready;
      return this.scoreOf([...password].slice(0, SCORED_CHARACTERS).join(''), context);
    } finally {
      this.waiting -= 1;
    }
  }
}
