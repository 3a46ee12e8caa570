import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, type OutboxTransaction } from '@rmm/messaging';
import { RateLimits } from '@rmm/rate-limits';
import { mintLinkToken } from '@rmm/secrets';
import { UnauthenticatedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { localeOf } from '../mail/mail-locale.js';
import { MailService } from '../mail/mail.service.js';
import { ExistingFactorStepUpRequired } from '../mfa/mfa.errors.js';
import { StepUpService } from '../mfa/step-up.service.js';
import { AccountProofsService } from '../passwords/account-proofs.service.js';
import { CurrentPasswordWrong, ReauthenticationRequired } from '../passwords/password.errors.js';
import { RegistrationsRepository } from '../registration/registrations.repository.js';
import { isFresh, SessionsService } from '../sessions/sessions.service.js';
import { SsoEnforced } from '../sso/sso.errors.js';
import { isSsoOnly, type User } from '../users/user.types.js';
import type { UpdateProfileDto } from './dto/update-profile.dto.js';

const ACTION = 'user.email.change.requested';

/** A request for a new address by a user who has proven to own the account. */
export interface ProvenRequest {
  user: User;
  email: string;
}

/** The fields a response has in addition after a request for a new address. */
export interface PendingAddress {
  pendingEmail: string;
  pendingEmailRequestedAt: string;
  verificationSent: boolean;
}

/** Requests another e-mail address. The response does not disclose whether another user has the address. */
@Injectable()
export class EmailChangeService {
  constructor(
    private readonly session: SessionsService,
    private readonly accountProofs: AccountProofsService,
    private readonly grants: StepUpService,
    private readonly links: RegistrationsRepository,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Checks that the caller owns the account: by a proof of the last ten minutes, of the factor as well when one is
   * enrolled; else by password and step-up grant. A grant is consumed last, so that a wrong password does not use it up.
   * @returns null for the address the user has already
   * @throws ValidationError without a required password; CurrentPasswordWrong, ExistingFactorStepUpRequired,
   *   ReauthenticationRequired, SsoEnforced, RateLimitedError
   */
  async prove(caller: UserCaller, email: string, proofs: UpdateProfileDto): Promise<ProvenRequest | null> {
    const { user } = await this.session.getUser(caller);
    if (email === user.email) return null;
    try {
      await this.assertOwner(caller, user, proofs);
    } catch (error) {
      await this.recordRefusal(caller, user, error);
      throw error;
    }
    await this.limits.hit(this.config.limits.emailChange, caller.userId);
    return { user, email };
  }

  /** Stores the request and mails the link. Older links become invalid; address and sessions stay as they are. */
  async request(tx: OutboxTransaction, caller: UserCaller, { user, email }: ProvenRequest): Promise<PendingAddress> {
    const change = { userId: user.id, email, authEpoch: user.authEpoch };
    const requested = await this.links.requestChange(tx, change);
    if (!requested) throw new UnauthenticatedError();
    const { key, keyHash } = mintLinkToken();
    await this.links.replaceEmailLink(tx, {
      userId: user.id,
      purpose: 'email_change',
      tokenHash: keyHash,
      epoch: requested.epoch,
    });
    const { name } = user;
    const locale = localeOf(user);
    const url = `${this.config.publicAppUrl}/verify-email?token=${key}`;
    await this.mail.add(tx, { to: email, template: 'email-change-confirm', values: { name, url }, locale });
    const notice = { name, newEmail: email };
    await this.mail.add(tx, { to: user.email, template: 'email-change-notice', values: notice, locale });
    await this.audit.record(tx, caller, ACTION, { type: 'user', id: user.id, name }, { newEmail: email });
    return {
      pendingEmail: email,
      pendingEmailRequestedAt: requested.requestedAt.toISOString(),
      verificationSent: this.mail.canSend,
    };
  }

  private async assertOwner(caller: UserCaller, user: User, proofs: UpdateProfileDto): Promise<void> {
    if (isSsoOnly(user)) throw new SsoEnforced();
    if (user.passwordHash === null) return this.accountProofs.use(caller, user, proofs);
    const { passwordProofAt, factorProofAt, now } = await this.session.getProofs(caller);
    const hasFactor = user.mfaEnabled && this.config.mfa.enabled;
    if (isFresh(passwordProofAt, now) && (!hasFactor || isFresh(factorProofAt, now))) return;
    const { stepUpGrantId } = proofs;
    if (!hasFactor) return this.accountProofs.use(caller, user, proofs);
    const isValid =
      stepUpGrantId !== undefined && (await this.grants.isValid(stepUpGrantId, caller, user, 'change_email'));
    if (!isValid) throw new ExistingFactorStepUpRequired();
    await this.accountProofs.use(caller, user, proofs);
    if (!(await this.grants.consume(stepUpGrantId))) throw new ExistingFactorStepUpRequired();
  }

  private async recordRefusal(caller: UserCaller, { id, name }: User, error: unknown): Promise<void> {
    const reason = REASONS.find(([type]) => error instanceof type)?.[1];
    if (reason) await this.audit.recordDirect(caller, ACTION, { type: 'user', id, name }, { reason }, 'denied');
  }
}

const REASONS = [
  [CurrentPasswordWrong, 'wrong_password'],
  [ExistingFactorStepUpRequired, 'no_step_up'],
  [ReauthenticationRequired, 'no_reauthentication'],
  [SsoEnforced, 'sso_enforced'],
] as const;
