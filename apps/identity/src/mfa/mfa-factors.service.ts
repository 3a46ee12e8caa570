import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { MailService } from '../mail/mail.service.js';
import { sameMembership } from '../members/membership.js';
import { LockOutPolicy } from '../security-policy/lock-out.policy.js';
import {
  SessionsService,
  type IssuedSession,
  type SessionUser,
  type StoredSession,
} from '../sessions/sessions.service.js';
import type { User, UserMembership } from '../users/user.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaGraceService } from './mfa-grace.service.js';
import type { TotpSetup } from './mfa-state.repository.js';
import { MfaAlreadyEnabled, MfaMethodNotAllowed, MfaNotEnabled } from './mfa.errors.js';
import { MfaRepository } from './mfa.repository.js';

/**
 * Stores changes of a user's factors. Each change ends every session and issues the caller's again, in one
 * transaction, and informs the user by mail.
 */
@Injectable()
export class MfaFactorsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: MfaRepository,
    private readonly codes: MfaCodesService,
    private readonly grace: MfaGraceService,
    private readonly lockOut: LockOutPolicy,
    private readonly sessions: SessionsService,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
  ) {}

  /** @throws MfaAlreadyEnabled, MfaMethodNotAllowed */
  async assertMayEnableTotp(caller: UserCaller, { user, membership }: SessionUser): Promise<void> {
    if (await this.repository.hasTotp(this.tenants.reader(caller), user.id)) throw new MfaAlreadyEnabled();
    this.assertTotpAllowed(user, membership);
  }

  /**
   * Stores a confirmed authenticator app with its recovery codes.
   * @throws UnauthenticatedError, MfaAlreadyEnabled, MfaMethodNotAllowed
   */
  async enableTotp(
    caller: UserCaller,
    { user, membership }: SessionUser,
    { secret, recoveryCodes }: TotpSetup,
  ): Promise<IssuedSession> {
    const sealed = this.codes.sealSecret(user.id, secret);
    const stored = await this.lockOut.withStablePolicies(user.id, async (memberships) => {
      const current = memberships.find((candidate) => sameMembership(candidate, membership));
      if (!current) throw new UnauthenticatedError();
      this.assertTotpAllowed(user, current);
      return this.tenants.transaction(caller, async (tx): Promise<StoredSession> => {
        const epochs = await this.repository.markEnabled(tx, user.id, 'totp');
        if (!epochs) throw new UnauthenticatedError();
        if (!(await this.repository.insertTotp(tx, user.id, sealed))) throw new MfaAlreadyEnabled();
        await this.repository.replaceRecoveryCodes(tx, user.id, this.hash(user.id, recoveryCodes));
        await this.audit.record(tx, caller, 'auth.mfa.enable', toResource(user), { method: 'totp' });
        await this.mail.add(tx, { to: user.email, template: 'mfa-enabled', values: { name: user.name } });
        const owner = { user: { ...user, ...epochs }, membership };
        return this.sessions.replaceAfterFactorChange(tx, caller, owner, { mfa: true, factorProven: true });
      });
    });
    return this.sessions.issue(stored);
  }

  /**
   * Deletes every factor, phone and recovery codes.
   * @param code  of the authenticator app, or a recovery code, which is used up by the change
   * @returns null when the code is wrong
   * @throws MfaNotEnabled, UnauthenticatedError
   */
  async disable(caller: UserCaller, { user, membership }: SessionUser, code: string): Promise<IssuedSession | null> {
    const isTotp = await this.codes.verifyTotp(this.tenants.reader(caller), user.id, code);
    const stored = await this.tenants.transaction(caller, async (tx) => {
      if (!isTotp && !(await this.codes.useRecoveryCode(tx, user.id, code))) return null;
      const epochs = await this.repository.clear(tx, user.id, user.mfaEpoch);
      if (!epochs) throw new MfaNotEnabled();
      const details = { method: user.mfaMethod, proof: isTotp ? 'totp' : 'recovery' };
      await this.audit.record(tx, caller, 'auth.mfa.disable', toResource(user), details);
      await this.mail.add(tx, { to: user.email, template: 'mfa-disabled', values: { name: user.name } });
      // The account has no factor any more, so the new session has not verified one.
      const owner = { user: { ...user, ...epochs }, membership };
      return this.sessions.replaceAfterFactorChange(tx, caller, owner, { mfa: false, factorProven: false });
    });
    return stored && this.sessions.issue(stored);
  }

  /** Replaces all recovery codes and informs the user by mail. @throws UnauthenticatedError when the factors were changed since */
  async replaceRecoveryCodes(
    caller: UserCaller,
    { user, membership }: SessionUser,
    recoveryCodes: readonly string[],
  ): Promise<IssuedSession> {
    const stored = await this.tenants.transaction(caller, async (tx) => {
      const epochs = await this.repository.incrementEpoch(tx, user.id, user.mfaEpoch);
      if (!epochs) throw new UnauthenticatedError();
      await this.repository.replaceRecoveryCodes(tx, user.id, this.hash(user.id, recoveryCodes));
      const details = { count: recoveryCodes.length };
      await this.audit.record(tx, caller, 'auth.mfa.recovery_codes.rotate', toResource(user), details);
      await this.mail.add(tx, { to: user.email, template: 'recovery-codes-replaced', values: { name: user.name } });
      // No new proof: the session keeps the time of its last one.
      const owner = { user: { ...user, ...epochs }, membership };
      return this.sessions.replaceAfterFactorChange(tx, caller, owner, { mfa: true, factorProven: false });
    });
    return this.sessions.issue(stored);
  }

  private assertTotpAllowed(user: User, membership: UserMembership): void {
    if (!this.grace.evaluate(user, membership).allowedMethods.includes('totp')) throw new MfaMethodNotAllowed();
  }

  private hash(userId: string, codes: readonly string[]): Buffer[] {
    return codes.map((code) => this.codes.hashRecoveryCode(userId, code));
  }
}

const toResource = ({ id, name }: User) => ({ type: 'user', id, name });
