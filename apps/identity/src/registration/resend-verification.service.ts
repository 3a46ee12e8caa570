import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { RateLimits, UnavailableError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import { CurrentSession } from '../sessions/current-session.service.js';
import { EmailLinksRepository } from './email-links.repository.js';
import { AlreadyVerified } from './registration.errors.js';

/** Mails a verification link to a user whose address is not verified yet, such as the bootstrap administrator. */
@Injectable()
export class ResendVerificationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly session: CurrentSession,
    private readonly links: EmailLinksRepository,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws AlreadyVerified; UnavailableError when no mail can be sent; RateLimitedError */
  async resend(caller: UserCaller): Promise<void> {
    const { user } = await this.session.getUser(caller);
    if (user.emailVerifiedAt !== null) throw new AlreadyVerified();
    if (!this.mail.canSend) throw new UnavailableError(undefined, { logDetails: { reason: 'mail is not configured' } });
    const { resendVerificationMinute, resendVerificationHour } = this.config.limits;
    await this.limits.hit(resendVerificationMinute, caller.userId);
    await this.limits.hit(resendVerificationHour, caller.userId);
    const { key, keyHash } = mintLinkToken();
    await this.worker.transaction(async (tx) => {
      const account = await this.links.lockUnverified(tx, user.id);
      if (!account) throw new AlreadyVerified();
      const { email, epoch } = account;
      await this.links.replace(tx, { userId: user.id, purpose: 'email_verification', tokenHash: keyHash, epoch });
      const url = `${this.config.publicAppUrl}/verify-email?token=${key}`;
      await this.mail.add(tx, { to: email, template: 'verify-address', values: { name: user.name, url } });
      const resource = { type: 'user', id: user.id, name: user.name };
      await this.audit.record(tx, caller, 'auth.verification_resent', resource);
    });
  }
}
