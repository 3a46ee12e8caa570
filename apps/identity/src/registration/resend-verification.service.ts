import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { RateLimits, UnavailableError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { OwnSession } from '../sessions/own-session.js';
import { AddressLinksRepository } from './address-links.repository.js';
import { AlreadyVerified } from './registration.errors.js';

/** A link for people whose address nobody has proven yet, such as the bootstrap administrator. */
@Injectable()
export class ResendVerificationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly session: OwnSession,
    private readonly links: AddressLinksRepository,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws AlreadyVerified; UnavailableError where mail cannot be sent; RateLimitedError */
  async resend(caller: UserCaller): Promise<void> {
    const { person } = await this.session.personOf(caller);
    if (person.emailVerifiedAt !== null) throw new AlreadyVerified();
    if (!this.mail.canSend) throw new UnavailableError(undefined, { logDetails: { reason: 'mail is not configured' } });
    const { resendVerificationMinute, resendVerificationHour } = this.config.limits;
    await this.limits.hit(resendVerificationMinute, caller.userId);
    await this.limits.hit(resendVerificationHour, caller.userId);
    const { key, keyHash } = mintLinkToken();
    await this.worker.transaction(async (tx) => {
      const [unproven] = await tx.query<{ email: string; epoch: number }>(
        `select email, email_epoch as epoch from user_account where id = $1 and email_verified_at is null for update`,
        [person.id],
      );
      if (!unproven) throw new AlreadyVerified();
      const { email, epoch } = unproven;
      await this.links.replace(tx, { userId: person.id, purpose: 'email_verification', tokenHash: keyHash, epoch });
      const url = `${this.config.publicAppUrl}/verify-email?token=${key}`;
      await this.mail.add(tx, { to: email, template: 'verify-address', values: { name: person.name, url } });
      const resource = { type: 'user', id: person.id, name: person.name };
      await this.audit.record(tx, caller, 'auth.verification_resent', resource);
    });
  }
}
