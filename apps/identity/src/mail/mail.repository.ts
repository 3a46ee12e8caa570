import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

export interface WaitingMail {
  id: string;
  recipient: string;
  template: string;
  locale: string;
  valuesSealed: string;
  attempts: number;
}

const LEASE = '2 minutes';
const MAX_ATTEMPTS = 8;

/** What somebody chose, else what the partner of its first membership did. */
const LOCALE_OF_RECIPIENT = `
  select coalesce(u.preferences ->> 'locale', (
    select p.settings ->> 'locale' from (
      select partner_id, 1 as place, created_at from organization_membership where user_id = u.id
      union all select partner_id, 2, created_at from partner_membership where user_id = u.id
    ) m join partner p on p.id = m.partner_id order by m.place, m.created_at limit 1))
  from user_account u where u.email = mail.recipient`;

/** Mail rows, under the worker login. */
@Injectable()
export class MailRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Takes a mail that is due, for two minutes: null when it is sent, given up, or in another worker's hands. */
  async lease(id: string): Promise<WaitingMail | null> {
    const [row] = await this.worker.query<WaitingMail>(
      `update mail set attempts = attempts + 1, next_attempt_at = now() + interval '${LEASE}'
       where id = $1 and sent_at is null and abandoned_at is null and next_attempt_at <= now()
       returning id, recipient, template, coalesce(nullif(locale, ''), (${LOCALE_OF_RECIPIENT}), 'en') as locale,
         values_sealed as "valuesSealed", attempts`,
      [id],
    );
    return row ?? null;
  }

  /** Sent: its values, links included, are forgotten. */
  async markSent(id: string): Promise<void> {
    await this.worker.query('update mail set sent_at = now(), values_sealed = null, last_error = null where id = $1', [
      id,
    ]);
  }

  /** Next try after 10, 40, 90 ... seconds; given up after the eighth. */
  async markFailed(id: string, error: string): Promise<void> {
    await this.worker.query(
      `update mail set last_error = $2, next_attempt_at = now() + make_interval(secs => attempts * attempts * 10),
         abandoned_at = case when attempts >= ${MAX_ATTEMPTS} then now() end
       where id = $1`,
      [id, error.slice(0, 500)],
    );
  }

  async listDue(limit: number): Promise<string[]> {
    const rows = await this.worker.query<{ id: string }>(
      `select id from mail where sent_at is null and abandoned_at is null and next_attempt_at <= now()
       order by next_attempt_at limit $1`,
      [limit],
    );
    return rows.map(({ id }) => id);
  }

  /** Forgets mails that ended a week ago. */
  async purge(limit: number): Promise<void> {
    await this.worker.query(
      `delete from mail where id in (select id from mail where created_at < now() - interval '7 days'
         and (sent_at is not null or abandoned_at is not null) limit $1)`,
      [limit],
    );
  }
}
