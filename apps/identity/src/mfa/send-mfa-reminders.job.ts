import { Inject, Injectable } from '@nestjs/common';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { Job, Logger } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailService } from '../mail/mail.service.js';
import type { User } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import { formatDeadline, MfaGraceService } from './mfa-grace.service.js';
import { MfaRepository, REMINDER_DAYS } from './mfa.repository.js';

const BATCH = 100;
const DAY_MS = 86_400_000;

/** Reminds users three days before their enrollment window ends. Of several replicas one sends the mail. */
@Injectable()
export class SendMfaRemindersJob {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: MfaRepository,
    private readonly users: UsersRepository,
    private readonly grace: MfaGraceService,
    private readonly mail: MailService,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Does nothing where no role requires a factor. */
  @Job({ name: 'send-mfa-reminders', everyMs: 600_000 })
  async run(): Promise<void> {
    const { enabled, forceByRole } = this.config.mfa;
    if (!enabled || !forceByRole) return;
    let after: string | null = null;
    do {
      const ids: string[] = await this.repository.listEndingSoon(this.worker, after, BATCH);
      for (const id of ids) await this.tryReminder(id);
      after = ids.length === BATCH ? (ids.at(-1) ?? null) : null;
    } while (after !== null);
  }

  /** A reminder that fails does not hold up those of other users. */
  private async tryReminder(userId: string): Promise<void> {
    try {
      await this.worker.transaction((tx) => this.remind(tx, userId));
    } catch (err) {
      this.logger.error({ err, userId }, 'a reminder to enroll a factor failed; the next run tries again');
    }
  }

  private async remind(tx: WorkerTransaction, userId: string): Promise<void> {
    const user = await this.users.findById(tx, userId);
    const deadline = user && this.earliestDeadline(user);
    if (!deadline || deadline.getTime() - user.now.getTime() > REMINDER_DAYS * DAY_MS) return;
    if (!(await this.repository.claimReminder(tx, userId))) return;
    const values = { name: user.name, deadline: formatDeadline(deadline) };
    await this.mail.add(tx, { to: user.email, template: 'mfa-grace-ending', values });
  }

  /** Returns the first end among the memberships that require a factor; null when none has an open window. */
  private earliestDeadline(user: User): Date | null {
    const ends = user.memberships
      .map((membership) => this.grace.evaluate(user, membership))
      .flatMap(({ status, deadline }) => (status === 'pending' && deadline ? [deadline.getTime()] : []));
    return ends.length === 0 ? null : new Date(Math.min(...ends));
  }
}
