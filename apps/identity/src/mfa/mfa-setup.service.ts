import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Tenants } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { RateLimits, UnauthenticatedError } from '@rmm/service-kit';
import qrcode from 'qrcode';
import { AccessChanges } from '../access/access-changes.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { OwnSession } from '../sessions/own-session.js';
import { SessionOpener, type IssuedSession } from '../sessions/session-opener.js';
import { SessionsRepository } from '../sessions/sessions.repository.js';
import type { LiveMembership, Person } from '../users/person.js';
import { CodeChecker } from './code-checker.js';
import { FactorsRepository, totpSealContext } from './factors.repository.js';
import type { MfaSetupStartedDto } from './mfa-answers.dto.js';
import { MfaAlreadyEnabled, MfaCodeInvalid, MfaSetupNotPending } from './mfa.errors.js';
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
    private readonly tenants: Tenants,
    private readonly session: OwnSession,
    private readonly factors: FactorsRepository,
    private readonly setups: TotpSetups,
    private readonly codes: CodeChecker,
    private readonly sessions: SessionsRepository,
    private readonly opener: SessionOpener,
    private readonly keyRing: KeyRing,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly access: AccessChanges,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws MfaAlreadyEnabled */
  async start(caller: UserCaller): Promise<MfaSetupStartedDto> {
    if ((await this.session.personOf(caller)).person.mfaEnabled) throw new MfaAlreadyEnabled();
    const setup: TotpSetup = { secret: newTotpSecret(), recoveryCodes: newRecoveryCodes() };
    await this.setups.start(caller.userId, caller.sessionId, setup);
    await this.audit.addDirect(caller, 'auth.mfa.setup', { type: 'user', id: caller.userId }, { method: 'totp' });
    const otpAuthUrl = totpUrl(setup.secret, caller.email, this.config.mfa.issuer);
    return { ...setup, otpAuthUrl, qrCodeDataUrl: await qrcode.toDataURL(otpAuthUrl) };
  }

  /**
   * Makes the pending factor the account's. Every session ends; the caller's is issued anew with `mfa: true`, in the
   * same transaction.
   * @throws MfaSetupNotPending, MfaCodeInvalid, MfaAlreadyEnabled, RateLimitedError
   */
  async confirm(caller: UserCaller, code: string): Promise<ConfirmedSetup> {
    const { userId, sessionId } = caller;
    await this.limits.hit(this.config.limits.mfaVerify, userId);
    const setup = await this.setups.find(userId, sessionId);
    if (!setup) throw new MfaSetupNotPending();
    if (!(await this.codes.checkSecret(userId, setup.secret, code))) {
      await this.audit.addDirect(caller, 'auth.mfa.setup.failed', { type: 'user', id: userId }, {}, 'failure');
      throw new MfaCodeInvalid();
    }
    const { person, membership } = await this.session.personOf(caller);
    if (person.mfaEnabled) throw new MfaAlreadyEnabled();
    if (!(await this.setups.end(userId, sessionId))) throw new MfaSetupNotPending();

    const session = await this.enable(caller, person, membership, setup);
    await this.limits.reset(this.config.limits.mfaVerify, userId);
    return { session, recoveryCodes: setup.recoveryCodes };
  }

  private async enable(
    caller: UserCaller,
    person: Person,
    membership: LiveMembership,
    { secret, recoveryCodes }: TotpSetup,
  ): Promise<IssuedSession> {
    const sealed = this.keyRing.seal(secret, totpSealContext(person.id));
    const hashes = recoveryCodes.map((code) => this.codes.hashRecoveryCode(person.id, code));
    const opened = await this.tenants.run(caller, async (tx) => {
      const epochs = await this.factors.markEnabled(tx, person.id, 'totp');
      if (!epochs) throw new UnauthenticatedError();
      if (!(await this.factors.insertTotp(tx, person.id, sealed))) throw new MfaAlreadyEnabled();
      await this.factors.replaceRecoveryCodes(tx, person.id, hashes);
      await this.sessions.revokeAll(tx, person.id, 'mfa_change');
      await this.access.announce(tx, { userIds: [person.id], reason: 'mfa_change' });
      const self = { type: 'user', id: person.id, name: person.name };
      await this.audit.add(tx, caller, 'auth.mfa.enable', self, { method: 'totp' });
      const options = { method: 'password', mfa: true, factorProven: true, replaces: caller.sessionId } as const;
      return this.opener.open(tx, { ...person, ...epochs }, membership, options);
    });
    return this.opener.issue(opened);
  }
}
