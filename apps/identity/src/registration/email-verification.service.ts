import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { hashKey, mintLinkToken } from '@rmm/secrets';
import { UnauthenticatedError, UnavailableError } from '@rmm/service-kit';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { localeOf } from '../mail/mail-locale.js';
import { MailService } from '../mail/mail.service.js';
import { sameMembership } from '../members/membership.types.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { User } from '../users/user.types.js';
import type { ConfirmedAddressDto, SignInInsteadDto } from './dto/verification.dto.js';
import { RegistrationCompletionService, type CompletedRegistration } from './registration-completion.service.js';
import { AlreadyVerified, VerificationInvalid } from './registration.errors.js';
import { RegistrationsRepository } from './registrations.repository.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

export type Verification = SignInInsteadDto | ConfirmedAddressDto | CompletedRegistration;

/** Verifies e-mail addresses by mailed links: those of registrations, requested ones, and current ones of users. */
@Injectable()
export class EmailVerificationService {
  constructor(
    private readonly completion: RegistrationCompletionService,
    private readonly worker: WorkerDatabase,
    private readonly repository: RegistrationsRepository,
    private readonly sessions: SessionRevocationsService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws VerificationInvalid for a link that is unknown, used or expired; RateLimitedError */
  async verify(token: string, client: string): Promise<Verification> {
    await this.limits.hit(this.config.limits.verifyEmail, client);
    const verification = LINK_TOKEN.test(token) ? await this.verifyHash(hashKey(token)) : null;
    if (verification) return verification;
    await this.audit.recordDirect(unknownCaller(), 'auth.email_verify_failed', { type: 'registration' }, {}, 'failure');
    throw new VerificationInvalid();
  }

  /**
   * Mails a link to a user whose address is not verified yet, such as the bootstrap administrator.
   * @throws UnauthenticatedError; AlreadyVerified; UnavailableError when no mail can be sent; RateLimitedError
   */
  async resend(caller: UserCaller): Promise<void> {
    const user = await this.repository.findUser(this.worker, caller.userId);
    if (!user?.memberships.some((membership) => sameMembership(membership, caller))) throw new UnauthenticatedError();
    if (user.emailVerifiedAt !== null) throw new AlreadyVerified();
    if (!this.mail.canSend) throw new UnavailableError(undefined, { logDetails: { reason: 'mail is not configured' } });
    const { resendVerificationMinute, resendVerificationHour } = this.config.limits;
    await this.limits.hit(resendVerificationMinute, caller.userId);
    await this.limits.hit(resendVerificationHour, caller.userId);
    const { key, keyHash } = mintLinkToken();
    await this.worker.transaction(async (tx) => {
      const account = await this.repository.lockUnverified(tx, user.id);
      if (!account) throw new AlreadyVerified();
      const { email, epoch } = account;
      await this.repository.replaceEmailLink(tx, {
        userId: user.id,
        purpose: 'email_verification',
        tokenHash: keyHash,
        epoch,
      });
      const url = `${this.config.publicAppUrl}/verify-email?token=${key}`;
      await this.mail.add(tx, { to: email, template: 'verify-address', values: { name: user.name, url } });
      const resource = { type: 'user', id: user.id, name: user.name };
      await this.audit.record(tx, caller, 'auth.verification_resent', resource);
    });
  }

  private async verifyHash(tokenHash: Buffer): Promise<Verification | null> {
    const registration = await this.completion.complete(tokenHash);
    if (registration === 'taken') return { verified: false, status: 'sign_in' };
    return registration ?? this.confirm(tokenHash);
  }

  /**
   * Confirms an address of an existing user: a requested one, or the current one.
   * @returns null for an invalid link, also when another user has the address by now: then nothing is changed
   */
  private async confirm(tokenHash: Buffer): Promise<ConfirmedAddressDto | null> {
    try {
      return await this.worker.transaction(async (tx) => {
        const link = await this.repository.useEmailLink(tx, tokenHash);
        const user = link && (await this.repository.findUser(tx, link.userId));
        if (!user) return null;
        return link.purpose === 'email_change' ? await this.commitChange(tx, user) : await this.markVerified(tx, user);
      });
    } catch (error) {
      if (isUniqueViolation(error, 'user_account_email_key')) return null;
      throw error;
    }
  }

  private async commitChange(tx: WorkerTransaction, user: User): Promise<ConfirmedAddressDto | null> {
    const { id, name, pendingEmail: email, email: oldEmail } = user;
    if (email === null) return null;
    await this.repository.commitChange(tx, id, email);
    await this.sessions.revokeAll(tx, id, 'email_change');
    const resource = { type: 'user', id, name };
    await this.audit.record(tx, callerOf(user), 'auth.email.change.committed', resource, { oldEmail, newEmail: email });
    const values = { name, newEmail: email };
    await this.mail.add(tx, { to: oldEmail, template: 'email-changed', values, locale: localeOf(user) });
    return { verified: true, purpose: 'email_change', email };
  }

  private async markVerified(tx: WorkerTransaction, user: User): Promise<ConfirmedAddressDto> {
    const { id, name, email } = user;
    await this.repository.markVerified(tx, id);
    await this.audit.record(tx, callerOf(user), 'auth.email_verified', { type: 'user', id, name });
    return { verified: true, purpose: 'email_verification', email };
  }
}

const callerOf = (user: User) => selfCaller(user, user.memberships[0] ?? null);
