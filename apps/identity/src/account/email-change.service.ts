import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, type OutboxTransaction } from '@rmm/messaging';
import { mintLinkToken } from '@rmm/secrets';
import { RateLimits, UnauthenticatedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { CurrentPassword, CurrentPasswordWrong } from '../login/current-password.js';
import { localeOf } from '../mail/mail-locale.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { ExistingFactorStepUpRequired } from '../mfa/mfa.errors.js';
import { StepUpGrants } from '../mfa/step-up-grants.js';
import { AddressLinksRepository } from '../registration/address-links.repository.js';
import { isFresh, OwnSession } from '../sessions/own-session.js';
import type { Person } from '../users/person.js';
import { ReauthenticationRequired } from './account.errors.js';
import type { UpdateProfileDto } from './dto.js';

const ACTION = 'user.email.change.requested';

/** A new address whose asker has proven to be the owner of the account. */
export interface ProvenRequest {
  person: Person;
  email: string;
}

/** What the answer adds for a new address. */
export interface PendingAddress {
  pendingEmail: string;
  pendingEmailRequestedAt: string;
  verificationSent: boolean;
}

/** Asking for another address: never at once, and never a word on whether it is taken. @see CONTRACT.md 4.5 */
@Injectable()
export class EmailChangeService {
  constructor(
    private readonly session: OwnSession,
    private readonly currentPassword: CurrentPassword,
    private readonly grants: StepUpGrants,
    private readonly links: AddressLinksRepository,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Is it the owner who asks? A proof of the last ten minutes suffices, the factor's included where one exists; else
   * password and step-up grant. A grant is used up last, so that a wrong password does not cost it.
   * @returns null for the address the account has already
   * @throws ValidationError when the password is absent; CurrentPasswordWrong, ExistingFactorStepUpRequired,
   *   ReauthenticationRequired, RateLimitedError
   */
  async prove(caller: UserCaller, email: string, proofs: UpdateProfileDto): Promise<ProvenRequest | null> {
    const { person } = await this.session.personOf(caller);
    if (email === person.email) return null;
    try {
      await this.assertOwner(caller, person, proofs);
    } catch (error) {
      await this.noteRefusal(caller, person, error);
      throw error;
    }
    await this.limits.hit(this.config.limits.emailChange, caller.userId);
    return { person, email };
  }

  /** Older links die with the epoch; the account, its address and its sessions stay as they are. */
  async request(tx: OutboxTransaction, caller: UserCaller, { person, email }: ProvenRequest): Promise<PendingAddress> {
    const [asked] = await tx.query<{ epoch: number; at: Date }>(
      `update user_account
       set pending_email = $2, pending_email_requested_at = now(), email_epoch = email_epoch + 1, updated_at = now()
       where id = $1 and status = 'active' and auth_epoch = $3
       returning email_epoch as epoch, pending_email_requested_at as at`,
      [person.id, email, person.authEpoch],
    );
    if (!asked) throw new UnauthenticatedError();
    const { key, keyHash } = mintLinkToken();
    await this.links.replace(tx, {
      userId: person.id,
      purpose: 'email_change',
      tokenHash: keyHash,
      epoch: asked.epoch,
    });
    const { name } = person;
    const locale = localeOf(person);
    const url = `${this.config.publicAppUrl}/verify-email?token=${key}`;
    await this.mail.add(tx, { to: email, template: 'email-change-confirm', values: { name, url }, locale });
    const notice = { name, newEmail: email };
    await this.mail.add(tx, { to: person.email, template: 'email-change-notice', values: notice, locale });
    await this.audit.record(tx, caller, ACTION, { type: 'user', id: person.id, name }, { newEmail: email });
    return {
      pendingEmail: email,
      pendingEmailRequestedAt: asked.at.toISOString(),
      verificationSent: this.mail.canSend,
    };
  }

  private async assertOwner(caller: UserCaller, person: Person, proofs: UpdateProfileDto): Promise<void> {
    if (person.passwordHash === null) throw new ReauthenticationRequired();
    const { passwordProofAt, factorProofAt, now } = await this.session.proofsOf(caller);
    const hasFactor = person.mfaEnabled && this.config.mfa.enabled;
    if (isFresh(passwordProofAt, now) && (!hasFactor || isFresh(factorProofAt, now))) return;
    const { currentPassword, stepUpGrantId } = proofs;
    if (!hasFactor) return this.currentPassword.prove(caller, person, currentPassword);
    const isGood =
      stepUpGrantId !== undefined && (await this.grants.isValid(stepUpGrantId, caller, person, 'change_email'));
    if (!isGood) throw new ExistingFactorStepUpRequired();
    await this.currentPassword.prove(caller, person, currentPassword);
    if (!(await this.grants.consume(stepUpGrantId))) throw new ExistingFactorStepUpRequired();
  }

  private async noteRefusal(caller: UserCaller, { id, name }: Person, error: unknown): Promise<void> {
    const reason = REASONS.find(([type]) => error instanceof type)?.[1];
    if (reason) await this.audit.recordDirect(caller, ACTION, { type: 'user', id, name }, { reason }, 'denied');
  }
}

const REASONS = [
  [CurrentPasswordWrong, 'wrong_password'],
  [ExistingFactorStepUpRequired, 'no_step_up'],
  [ReauthenticationRequired, 'no_reauthentication'],
] as const;
