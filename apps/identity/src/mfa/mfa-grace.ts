import { Inject, Injectable } from '@nestjs/common';
import type { OutboxTransaction } from '@rmm/messaging';
import { AccessChangesService } from '../access/access-changes.service.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { mfaFactsOf } from './mfa-facts.js';
import type { UserMembership, User } from '../users/user.js';
import { graceDays, judgeMfa, type MfaVerdict } from './mfa-policy.js';

/** The second reminder goes out this long before the end; a shorter window has only the first. */
export const REMINDER_DAYS = 3;

interface Window {
  granted: boolean;
  graceGrantedAt: Date | null;
  enrollmentDeadline: Date | null;
}

/** Opens the enrollment window of somebody whose role demands a factor. @see CONTRACT.md 5.3 */
@Injectable()
export class MfaGrace {
  constructor(
    private readonly accessChanges: AccessChangesService,
    private readonly mail: MailOutbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** The policy's word on this user now. */
  judge(user: User, membership: UserMembership): MfaVerdict {
    return judgeMfa(mfaFactsOf(user, membership), this.config.mfa);
  }

  /**
   * Grants the window once, with the database clock, in one statement that matches only "no deadline yet", and tells
   * the user. Whoever comes second learns of the window of the first.
   * @returns the verdict after that
   */
  async openIfDue(tx: OutboxTransaction, user: User, membership: UserMembership): Promise<MfaVerdict> {
    const verdict = this.judge(user, membership);
    if (!verdict.opensGrace) return verdict;
    const { granted, ...window } = await this.grant(tx, user.id, graceDays(membership.partnerSecurity));
    const opened = this.judge({ ...user, ...window }, membership);
    if (!granted || !opened.deadline) return opened;
    await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'mfa_grace_opened' });
    const values = { name: user.name, deadline: deadlineText(opened.deadline) };
    await this.mail.add(tx, { to: user.email, template: 'mfa-grace-opened', values });
    return opened;
  }

  private async grant(tx: OutboxTransaction, userId: string, days: number): Promise<Window> {
    const [granted] = await tx.query<Omit<Window, 'granted'>>(
      `update user_account
       set mfa_grace_granted_at = now(), mfa_enrollment_deadline = now() + make_interval(days => $2),
         mfa_opening_mail_at = now(), mfa_ending_mail_at = case when $2 <= ${REMINDER_DAYS} then now() end
       where id = $1 and mfa_enrollment_deadline is null and first_factor_at is null
       returning ${WINDOW}`,
      [userId, days],
    );
    if (granted) return { granted: true, ...granted };
    const [found] = await tx.query<Omit<Window, 'granted'>>(`select ${WINDOW} from user_account where id = $1`, [
      userId,
    ]);
    return { granted: false, ...found };
  }
}

const WINDOW = `mfa_grace_granted_at as "graceGrantedAt", mfa_enrollment_deadline as "enrollmentDeadline"`;

const FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

/** The end of a window as a mail says it: `5 December 2026 at 09:30 UTC`. */
export const deadlineText = (deadline: Date): string => `${FORMAT.format(deadline)} UTC`;
