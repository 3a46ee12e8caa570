import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { SessionStarter, type FinishedLogin } from '../login/session-starter.js';
import { PeopleRepository } from '../users/people.repository.js';
import { tenantIsActive, type LiveMembership, type Person } from '../users/person.js';
import { CodeChecker } from './code-checker.js';
import { FactorsRepository } from './factors.repository.js';
import { MfaCodeInvalid, MfaMethodMismatch, MfaSessionInvalid } from './mfa.errors.js';
import { PendingLogins, stillTheSame } from './pending-logins.js';
import { normalizeRecoveryCode } from './recovery-codes.js';

export type VerifyMethod = 'totp' | 'sms' | 'recovery';

/** The second step of a login. */
@Injectable()
export class MfaLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly people: PeopleRepository,
    private readonly pendingLogins: PendingLogins,
    private readonly codes: CodeChecker,
    private readonly factors: FactorsRepository,
    private readonly starter: SessionStarter,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Trades a temporary token and a code for a session with `mfa: true`.
   * @throws MfaSessionInvalid 401; MfaCodeInvalid, MfaMethodMismatch 400; RateLimitedError per user, not per token
   */
  async verify(tempToken: string, code: string, method?: VerifyMethod): Promise<FinishedLogin> {
    const pending = await this.pendingLogins.find(tempToken);
    if (!pending) throw new MfaSessionInvalid();
    await this.limits.hit(this.config.limits.mfaVerify, pending.userId);
    const person = await this.people.findById(this.worker, pending.userId);
    const membership = person?.memberships.find(tenantIsActive);
    if (!person || !membership || !stillTheSame(pending, person)) {
      await this.pendingLogins.end(tempToken);
      throw new MfaSessionInvalid();
    }
    const kind = method ?? (normalizeRecoveryCode(code) ? 'recovery' : 'totp');
    if (kind === 'sms') throw new MfaMethodMismatch();
    if (!(await this.isRight(person, kind, code))) return this.refuse(person, membership, kind);
    if (!(await this.pendingLogins.end(tempToken))) throw new MfaSessionInvalid();

    const finished = await this.openSession(person, membership, kind, code);
    await this.limits.reset(this.config.limits.mfaVerify, person.id);
    return finished;
  }

  private async openSession(
    person: Person,
    membership: LiveMembership,
    kind: VerifyMethod,
    code: string,
  ): Promise<FinishedLogin> {
    const started = await this.worker.transaction(async (tx) => {
      if (kind === 'recovery') {
        if (!(await this.codes.useRecoveryCode(tx, person.id, code))) throw new MfaCodeInvalid();
        const self = { type: 'user', id: person.id, name: person.name };
        await this.audit.record(tx, selfCaller(person, membership), 'auth.mfa.recovery_code.used', self);
      }
      const proven = { mfa: true, factorProven: true, passwordProven: true };
      return this.starter.start(tx, person, membership, { method: 'password', ...proven });
    });
    return this.starter.finish(started);
  }

  /** A recovery code is only looked at here; it is used up in the transaction of the session. */
  private isRight(person: Person, kind: VerifyMethod, input: string): Promise<boolean> {
    if (kind === 'totp') return this.codes.checkTotp(this.worker, person.id, input);
    const code = normalizeRecoveryCode(input);
    if (!code) return Promise.resolve(false);
    return this.factors.hasRecoveryCode(this.worker, person.id, this.codes.hashRecoveryCode(person.id, code));
  }

  private async refuse(person: Person, membership: LiveMembership, method: VerifyMethod): Promise<never> {
    await this.audit.recordDirect(
      selfCaller(person, membership),
      'user.login.failed',
      { type: 'user', id: person.id, name: person.name },
      { reason: 'mfa_code', method },
      'failure',
    );
    throw new MfaCodeInvalid();
  }
}
