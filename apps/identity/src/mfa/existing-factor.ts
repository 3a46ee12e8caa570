import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { isFresh, OwnSession } from '../sessions/own-session.js';
import type { User } from '../users/user.js';
import { ExistingFactorStepUpRequired } from './mfa.errors.js';
import { StepUpGrants } from './step-up-grants.js';

/** Whoever has a factor adds another one only with a recent proof of it: the session's own, or a step-up grant. */
@Injectable()
export class ExistingFactor {
  constructor(
    private readonly session: OwnSession,
    private readonly grants: StepUpGrants,
  ) {}

  /**
   * Looks at the grant without using it up.
   * @returns the grant to consume with the change; null where none is needed
   * @throws ExistingFactorStepUpRequired
   */
  async check(caller: UserCaller, user: User, grantId: string | undefined): Promise<string | null> {
    if (!user.mfaEnabled) return null;
    const { factorProofAt, now } = await this.session.proofsOf(caller);
    if (isFresh(factorProofAt, now)) return null;
    if (grantId === undefined || !(await this.grants.isValid(grantId, caller, user, 'add_factor'))) {
      throw new ExistingFactorStepUpRequired();
    }
    return grantId;
  }

  /** @throws ExistingFactorStepUpRequired when somebody else used the grant meanwhile */
  async consume(grantId: string | null): Promise<void> {
    if (grantId !== null && !(await this.grants.consume(grantId))) throw new ExistingFactorStepUpRequired();
  }
}
