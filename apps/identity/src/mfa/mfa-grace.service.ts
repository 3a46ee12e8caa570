import { Inject, Injectable } from '@nestjs/common';
import type { OutboxTransaction } from '@rmm/messaging';
import { AccessChangesService } from '../access/access-changes.service.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import type { User, UserMembership } from '../users/user.types.js';
import { evaluateMfa, graceDays, toMfaPolicyInput, type MfaDecision } from './mfa.policy.js';
import { MfaRepository } from './mfa.repository.js';

/** Opens the enrollment window of users whose role requires a factor. @see docs/reference/mfa-and-policies.md */
@Injectable()
export class MfaGraceService {
  constructor(
    private readonly repository: MfaRepository,
    private readonly accessChanges: AccessChangesService,
    private readonly mail: MailService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Evaluates the policy for a user in one membership. */
  evaluate(user: User, membership: UserMembership): MfaDecision {
    return evaluateMfa(toMfaPolicyInput(user, membership), this.config.mfa);
  }

  /**
   * Opens the window when the policy says so, and notifies the user. A window is opened once; concurrent callers get
   * the window of the first.
   * @returns the decision after that
   */
  async openIfDue(tx: OutboxTransaction, user: User, membership: UserMembership): Promise<MfaDecision> {
    const decision = this.evaluate(user, membership);
    if (!decision.opensGrace) return decision;
    const { opened, ...window } = await this.repository.openWindow(tx, user.id, graceDays(membership.partnerSecurity));
    const updated = this.evaluate({ ...user, ...window }, membership);
    if (!opened || !updated.deadline) return updated;
    await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'mfa_grace_opened' });
    const values = { name: user.name, deadline: formatDeadline(updated.deadline) };
    await this.mail.add(tx, { to: user.email, template: 'mfa-grace-opened', values });
    return updated;
  }
}

const FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

/** Formats the end of a window for mails: `5 December 2026 at 09:30 UTC`. */
export const formatDeadline = (deadline: Date): string => `${FORMAT.format(deadline)} UTC`;
