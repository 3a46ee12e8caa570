import { Inject, Injectable } from '@nestjs/common';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { UsersRepository } from '../users/users.repository.js';
import type { User } from '../users/user.js';
import { deadlineText, MfaGrace, REMINDER_DAYS } from './mfa-grace.js';
import { DEFAULT_GRACE_DAYS, MAX_GRACE_DAYS } from './mfa-policy.js';

const BATCH = 100;
const DAY_MS = 86_400_000;

/** The days a partner gives now, as `graceDays` reads them. */
const PARTNER_DAYS = `case when jsonb_typeof(p.settings #> '{security,mfaEnrollmentGraceDays}') = 'number'
  then least(${MAX_GRACE_DAYS}, greatest(0, trunc((p.settings #>> '{security,mfaEnrollmentGraceDays}')::numeric)))::int
  else ${DEFAULT_GRACE_DAYS} end`;

/** Whose window might end soon by any of its memberships; the policy decides. $1 the last id seen. */
const CANDIDATES = `
  select u.id from user_account u
  where u.first_factor_at is null and u.mfa_ending_mail_at is null and u.mfa_enrollment_deadline > now()
    and u.status = 'active' and ($1::uuid is null or u.id > $1)
    and (u.mfa_enrollment_deadline <= now() + interval '${REMINDER_DAYS} days' or exists (
      select from (
        select partner_id from partner_membership where user_id = u.id
        union all select partner_id from organization_membership where user_id = u.id
      ) m join partner p on p.id = m.partner_id
      where u.mfa_grace_granted_at + make_interval(days => ${PARTNER_DAYS}) <= now() + interval '${REMINDER_DAYS} days'))
  order by u.id limit ${BATCH}`;

/** Reminds users three days before their enrollment window ends. Replicas may look side by side: one sends. */
@Injectable()
export class MfaReminders {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly grace: MfaGrace,
    private readonly mail: MailOutbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  @Job({ name: 'send-mfa-reminders', everyMs: 600_000 })
  async run(): Promise<void> {
    const { enabled, forceByRole } = this.config.mfa;
    if (!enabled || !forceByRole) return;
    let last: string | null = null;
    do {
      const found: { id: string }[] = await this.worker.query<{ id: string }>(CANDIDATES, [last]);
      for (const { id } of found) await this.worker.transaction((tx) => this.remind(tx, id));
      last = found.length === BATCH ? (found[BATCH - 1]?.id ?? null) : null;
    } while (last !== null);
  }

  private async remind(tx: WorkerTransaction, userId: string): Promise<void> {
    const user = await this.users.findById(tx, userId);
    const deadline = user && this.endOf(user);
    if (!deadline || deadline.getTime() - user.now.getTime() > REMINDER_DAYS * DAY_MS) return;
    const [claimed] = await tx.query(
      `update user_account set mfa_ending_mail_at = now()
       where id = $1 and mfa_ending_mail_at is null and first_factor_at is null returning id`,
      [userId],
    );
    if (!claimed) return;
    const values = { name: user.name, deadline: deadlineText(deadline) };
    await this.mail.add(tx, { to: user.email, template: 'mfa-grace-ending', values });
  }

  /** The first end among the memberships that demand a factor; null when none has a window open. */
  private endOf(user: User): Date | null {
    const ends = user.memberships
      .map((membership) => this.grace.judge(user, membership))
      .flatMap(({ status, deadline }) => (status === 'pending' && deadline ? [deadline.getTime()] : []));
    return ends.length === 0 ? null : new Date(Math.min(...ends));
  }
}
