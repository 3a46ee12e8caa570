import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { hashKey, mintOpaqueToken } from '@rmm/secrets';
import { CurrentSession, isFresh } from '../sessions/current-session.service.js';
import type { User } from '../users/user.js';
import type { Epochs } from './mfa-factors.repository.js';
import { ExistingFactorStepUpRequired } from './mfa.errors.js';
import { OneTimeStore } from './one-time-store.service.js';

export const STEP_UP_OPERATIONS = ['add_factor', 'change_email'] as const;
export type StepUpOperation = (typeof STEP_UP_OPERATIONS)[number];

export const STEP_UP_TTL_SECONDS = 300;

/**
 * Step-up grants: proofs of a factor for one sensitive operation. A grant is used once within 300 seconds and bound to
 * user, operation, session and both epochs. It is stored in Redis under the hash of its id; when Redis is down, every
 * method throws UnavailableError.
 * @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class StepUpPolicy {
  constructor(
    private readonly store: OneTimeStore,
    private readonly session: CurrentSession,
  ) {}

  /** Issues a grant. @returns its id: 43 characters, shown once */
  async issue(caller: UserCaller, epochs: Epochs, operation: StepUpOperation): Promise<string> {
    const { key } = mintOpaqueToken();
    await this.store.set(keyOf(key), bindingOf(caller, epochs, operation), STEP_UP_TTL_SECONDS);
    return key;
  }

  /** Returns true when the grant permits the operation. Does not use it: an invalid grant must not cost a code. */
  async isValid(id: string, caller: UserCaller, epochs: Epochs, operation: StepUpOperation): Promise<boolean> {
    return (await this.store.get(keyOf(id))) === bindingOf(caller, epochs, operation);
  }

  /** Uses a valid grant. @returns true for exactly one of concurrent callers */
  consume(id: string): Promise<boolean> {
    return this.store.consume(keyOf(id));
  }

  /**
   * Checks that a user with a factor may add another one: the session proved a factor recently, or there is a grant.
   * @returns the grant to use with `consumeFactorGrant`; null when none is needed
   * @throws ExistingFactorStepUpRequired
   */
  async checkFactorGrant(caller: UserCaller, user: User, grantId: string | undefined): Promise<string | null> {
    if (!user.mfaEnabled) return null;
    const { factorProofAt, now } = await this.session.getProofs(caller);
    if (isFresh(factorProofAt, now)) return null;
    if (grantId === undefined || !(await this.isValid(grantId, caller, user, 'add_factor'))) {
      throw new ExistingFactorStepUpRequired();
    }
    return grantId;
  }

  /** @throws ExistingFactorStepUpRequired when a concurrent request used the grant */
  async consumeFactorGrant(grantId: string | null): Promise<void> {
    if (grantId !== null && !(await this.consume(grantId))) throw new ExistingFactorStepUpRequired();
  }
}

const keyOf = (id: string) => `rmm:identity:step-up:{${hashKey(id).toString('hex')}}`;

const bindingOf = ({ userId, sessionId }: UserCaller, { authEpoch, mfaEpoch }: Epochs, operation: StepUpOperation) =>
  [userId, sessionId, authEpoch, mfaEpoch, operation].join('|');
