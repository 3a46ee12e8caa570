import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { RateLimits, UnauthenticatedError } from '@rmm/service-kit';
import qrcode from 'qrcode';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { sameMembership } from '../members/membership.js';
import { SecurityPoliciesService } from '../security-policy/security-policies.service.js';
import { OwnSession } from '../sessions/own-session.js';
import { SessionOpener, type IssuedSession, type OpenedSession } from '../sessions/session-opener.js';
import type { UserMembership, User } from '../users/user.js';
import { CodeChecker } from './code-checker.js';
import { ExistingFactor } from './existing-factor.js';
import { FactorSession } from './factor-session.js';
import { FactorsRepository, totpSealContext } from './factors.repository.js';
import type { MfaSetupStartedDto } from './mfa-answers.dto.js';
import { MfaGrace } from './mfa-grace.js';
import { MfaAlreadyEnabled, MfaCodeInvalid, MfaMethodNotAllowed, MfaSetupNotPending } from './mfa.errors.js';
import { newRecoveryCodes } from './recovery-codes.js';
import { newTotpSecret, totpUrl } from './totp.js';
import { TotpSetups, type TotpSetup } from './totp-setups.js';

export interface ConfirmedSetup {
  session: IssuedSession;
  recoveryCodes: string[];
}

/** Enrolling TOTP: shown once, confirmed by a first code within ten minutes. */
@Injectable()
export class MfaSetupService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly session: OwnSession,
    private readonly factors: FactorsRepository,
    private readonly setups: TotpSetups,
    private readonly codes: CodeChecker,
    private readonly grace: MfaGrace,
    private readonly policies: SecurityPoliciesService,
    private readonly existing: ExistingFactor,
    private readonly factorSession: FactorSession,
    private readonly opener: SessionOpener,
    private readonly keyRing: KeyRing,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * @param grantId  of a step-up, where the account has another factor; looked at, not used up
   * @throws MfaAlreadyEnabled, MfaMethodNotAllowed, ExistingFactorStepUpRequired
   */
  async start(caller: UserCaller, grantId?: string): Promise<MfaSetupStartedDto> {
    const { user } = await this.candidate(caller);
    await this.existing.check(caller, user, grantId);
    const setup: TotpSetup = { secret: newTotpSecret(), recoveryCodes: newRecoveryCodes() };
    await this.setups.start(caller.userId, caller.sessionId, setup);
    const self = { type: 'user', id: user.id, name: user.name };
    await this.audit.recordDirect(caller, 'auth.mfa.setup', self, { method: 'totp' });
    const otpAuthUrl = totpUrl(setup.secret, caller.email, this.config.mfa.issuer);
    return { ...setup, otpAuthUrl, qrCodeDataUrl: await qrcode.toDataURL(otpAuthUrl) };
  }

  /**
   * Makes the pending factor the account's. Every session ends; the caller's is issued anew with `mfa: true`, in the
   * same transaction. A grant that is not good is refused before the code is looked at, and a wrong code burns none.
   * @throws MfaSetupNotPending, MfaCodeInvalid, MfaAlreadyEnabled, MfaMethodNotAllowed, ExistingFactorStepUpRequired,
   *   RateLimitedError
   */
  async confirm(caller: UserCaller, code: string, stepUpGrantId?: string): Promise<ConfirmedSetup> {
    const { userId, sessionId } = caller;
    await this.limits.hit(this.config.limits.mfaVerify, userId);
    const setup = await this.setups.find(userId, sessionId);
    if (!setup) throw new MfaSetupNotPending();
    const { user, membership } = await this.candidate(caller);
    const grantId = await this.existing.check(caller, user, stepUpGrantId);
    if (!(await this.codes.checkSecret(userId, setup.secret, code))) {
      const self = { type: 'user', id: userId, name: user.name };
      await this.audit.recordDirect(caller, 'auth.mfa.setup.failed', self, {}, 'failure');
      throw new MfaCodeInvalid();
    }
    await this.existing.consume(grantId);
    if (!(await this.setups.end(userId, sessionId))) throw new MfaSetupNotPending();

    const session = await this.enable(caller, user, membership, setup);
    await this.limits.reset(this.config.limits.mfaVerify, userId);
    return { session, recoveryCodes: setup.recoveryCodes };
  }

  /** Somebody who has no TOTP yet and may have it. */
  private async candidate(caller: UserCaller): Promise<{ user: User; membership: UserMembership }> {
    const { user, membership } = await this.session.userOf(caller);
    if (await this.factors.hasTotp(this.tenants.reader(caller), user.id)) throw new MfaAlreadyEnabled();
    this.assertAllowed(user, membership);
    return { user, membership };
  }

  private assertAllowed(user: User, membership: UserMembership): void {
    if (!this.grace.judge(user, membership).allowedMethods.includes('totp')) throw new MfaMethodNotAllowed();
  }

  private async enable(
    caller: UserCaller,
    user: User,
    membership: UserMembership,
    { secret, recoveryCodes }: TotpSetup,
  ): Promise<IssuedSession> {
    const sealed = this.keyRing.seal(secret, totpSealContext(user.id));
    const hashes = recoveryCodes.map((code) => this.codes.hashRecoveryCode(user.id, code));
    const store = async (tx: TenantTransaction): Promise<OpenedSession> => {
      const epochs = await this.factors.markEnabled(tx, user.id, 'totp');
      if (!epochs) throw new UnauthenticatedError();
      if (!(await this.factors.insertTotp(tx, user.id, sealed))) throw new MfaAlreadyEnabled();
      await this.factors.replaceRecoveryCodes(tx, user.id, hashes);
      const self = { type: 'user', id: user.id, name: user.name };
      await this.audit.record(tx, caller, 'auth.mfa.enable', self, { method: 'totp' });
      await this.mail.add(tx, { to: user.email, template: 'mfa-enabled', values: { name: user.name } });
      return this.factorSession.reissue(tx, caller, { ...user, ...epochs }, membership);
    };
    const opened = await this.policies.withStablePolicies(user.id, async (memberships) => {
      const current = memberships.find((candidate) => sameMembership(candidate, membership));
      if (!current) throw new UnauthenticatedError();
      this.assertAllowed(user, current);
      return this.tenants.transaction(caller, store);
    });
    return this.opener.issue(opened);
  }
}
