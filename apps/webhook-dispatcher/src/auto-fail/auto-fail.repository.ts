import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { DispatcherConfig } from '../config.js';

export interface FailedWebhook {
  id: string;
  partnerId: string;
  orgId: string;
  name: string;
  failingSince: Date;
  /** The receiver said so itself. */
  isGone: boolean;
}

export interface DueMail extends Omit<FailedWebhook, 'isGone'> {
  organizationName: string;
  /** When it was failed. */
  failedAt: Date;
}

const BATCH = 200;
/** How far back a 410 is looked for: far longer than between two looks. */
const GONE_MINUTES = 30;
const IS_GONE = `
  exists (select from dead_letter l
           where l.webhook_id = w.id and l.response_status = 410 and l.failed_at >= c.failing_since
             and l.failed_at > now() - interval '${GONE_MINUTES} minutes')`;

/**
 * $1 hours. The row of the webhook is locked before its counter, as by those who change it; a webhook revived meanwhile
 * is looked at again, as it then is.
 */
const FAIL = `
  with due as (
    select w.id, c.failing_since,
           ${IS_GONE} as is_gone
      from webhook_counter c join webhook w on w.id = c.webhook_id and w.status = 'active'
     where c.failing_since is not null
       and (c.failing_since < now() - make_interval(hours => $1) or ${IS_GONE})
     order by w.id limit ${BATCH}
       for update of w, c skip locked
  ), failed as (
    update webhook w set status = 'error', updated_at = now() from due where w.id = due.id
    returning w.id, w.partner_id, w.org_id, w.name, due.failing_since, due.is_gone
  ), told as (
    update webhook_counter c set mail_due_for = date_trunc('milliseconds', now()) from failed where c.webhook_id = failed.id
  )
  select id, partner_id as "partnerId", org_id as "orgId", name, failing_since as "failingSince", is_gone as "isGone"
    from failed`;

/** Webhooks that have failed for too long, under the worker login. */
@Injectable()
export class AutoFailRepository {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly config: DispatcherConfig,
  ) {}

  /** Fails what is due. Replicas may do so side by side: each webhook is failed once. */
  fail(tx: WorkerTransaction): Promise<FailedWebhook[]> {
    return tx.query<FailedWebhook>(FAIL, [this.config.autoFailAfterHours]);
  }

  async dueMails(): Promise<DueMail[]> {
    return this.worker.query<DueMail>(
      `select w.id, w.partner_id as "partnerId", w.org_id as "orgId", w.name,
              coalesce(c.failing_since, c.mail_due_for) as "failingSince", c.mail_due_for as "failedAt",
              coalesce(o.name, '') as "organizationName"
         from webhook_counter c join webhook w on w.id = c.webhook_id
         left join organization_directory o on o.org_id = w.org_id
        where c.mail_due_for is not null order by c.mail_due_for limit ${BATCH}`,
    );
  }

  async markMailed({ id, failedAt }: DueMail): Promise<void> {
    await this.worker.query(
      'update webhook_counter set mail_due_for = null where webhook_id = $1 and mail_due_for = $2',
      [id, failedAt.toISOString()],
    );
  }
}
