import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { hashKey, mintOpaqueToken } from '@rmm/secrets';
import type { User } from '../users/user.js';
import { RedisOnce } from './redis-once.js';

export const STEP_UP_OPERATIONS = ['add_factor', 'change_email'] as const;
export type StepUpOperation = (typeof STEP_UP_OPERATIONS)[number];

export const STEP_UP_TTL_SECONDS = 300;

type Epochs = Pick<User, 'authEpoch' | 'mfaEpoch'>;

/**
 * Proofs of a factor for one dangerous operation: single use, 300 seconds, bound to user, operation, session and both
 * epochs. In Redis under the hash of their id; Redis away: 503.
 * @see CONTRACT.md 4.7
 */
@Injectable()
export class StepUpGrants {
  constructor(private readonly redis: RedisOnce) {}

  /** @returns the id of the grant: 43 characters, shown once */
  async issue(caller: UserCaller, epochs: Epochs, operation: StepUpOperation): Promise<string> {
    const { key } = mintOpaqueToken();
    await this.redis.keep(keyOf(key), bindingOf(caller, epochs, operation), STEP_UP_TTL_SECONDS);
    return key;
  }

  /** Is it good for this operation? Does not use it up: an invalid grant is refused before any code is consumed. */
  async isValid(id: string, caller: UserCaller, epochs: Epochs, operation: StepUpOperation): Promise<boolean> {
    return (await this.redis.peek(keyOf(id))) === bindingOf(caller, epochs, operation);
  }

  /** Uses a grant up that `isValid` found good: true for exactly one caller. */
  consume(id: string): Promise<boolean> {
    return this.redis.consume(keyOf(id));
  }
}

const keyOf = (id: string) => `rmm:identity:step-up:{${hashKey(id).toString('hex')}}`;

const bindingOf = ({ userId, sessionId }: UserCaller, { authEpoch, mfaEpoch }: Epochs, operation: StepUpOperation) =>
  [userId, sessionId, authEpoch, mfaEpoch, operation].join('|');
