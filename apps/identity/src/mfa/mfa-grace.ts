import { Inject, Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { mfaFactsOf } from '../users/mfa-facts.js';
import type { LiveMembership, Person } from '../users/person.js';
import { graceDays, judgeMfa, type MfaVerdict } from './mfa-policy.js';

/** Opens the enrolment window of somebody whose role demands a factor. @see CONTRACT.md 5.3 */
@Injectable()
export class MfaGrace {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  /** The policy's word on this person now. */
  judge(person: Person, membership: LiveMembership): MfaVerdict {
    return judgeMfa(mfaFactsOf(person, membership), this.config.mfa);
  }

  /**
   * Grants the window once, with the database clock, in one statement that matches only "no deadline yet".
   * @returns the verdict after that
   */
  async openIfDue(tx: SqlExecutor, person: Person, membership: LiveMembership): Promise<MfaVerdict> {
    const verdict = this.judge(person, membership);
    if (!verdict.opensGrace) return verdict;
    const days = graceDays(membership.partnerSecurity);
    const [granted] = await tx.query<{ grantedAt: Date; deadline: Date }>(
      `update user_account
       set mfa_grace_granted_at = now(), mfa_enrollment_deadline = now() + make_interval(days => $2)
       where id = $1 and mfa_enrollment_deadline is null and first_factor_at is null
       returning mfa_grace_granted_at as "grantedAt", mfa_enrollment_deadline as deadline`,
      [person.id, days],
    );
    if (!granted) return verdict;
    return this.judge(
      { ...person, graceGrantedAt: granted.grantedAt, enrollmentDeadline: granted.deadline },
      membership,
    );
  }
}
