import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import type { Webhook } from '../webhooks/webhook.entity.js';

export type FailedWebhook = Pick<Webhook, 'id' | 'partnerId' | 'orgId' | 'name'> & {
  failingSince: Date;
  /** True when the receiver responded 410. */
  isGone: boolean;
};

export type DueMail = Omit<FailedWebhook, 'isGone'> & {
  /** The name of the partner for a webhook of its own. */
  organizationName: string;
  /** When the webhook was set to failed. */
  failedAt: Date;
};

const BATCH = 200;
/** The maximum age of the dead letter of a 410: much longer than the interval of the job. */
const GONE_MINUTES = 30;
const IS_GONE = `
  EXISTS (SELECT FROM dead_letter l
          WHERE l.webhook_id = w.id AND l.response_status = 410 AND l.failed_at >= c.failing_since
            AND l.failed_at > now() - interval '${GONE_MINUTES} minutes')`;

/**
 * Locks the webhook before its counter, as every writer does. A webhook that was set to active meanwhile is checked
 * again with its new values.
 */
const FAIL = `
  WITH due AS (
    SELECT w.id, c.failing_since, ${IS_GONE} AS is_gone
    FROM webhook_counter c JOIN webhook w ON w.id = c.webhook_id AND w.status = 'active'
    WHERE c.failing_since IS NOT NULL
      AND (c.failing_since < now() - make_interval(hours => :failingHours) OR ${IS_GONE})
    ORDER BY w.id LIMIT ${BATCH}
    FOR UPDATE OF w, c SKIP LOCKED
  ), failed AS (
    UPDATE webhook w SET status = 'error', updated_at = now() FROM due WHERE w.id = due.id
    RETURNING w.id, w.partner_id, w.org_id, w.name, due.failing_since, due.is_gone
  ), mail_scheduled AS (
    UPDATE webhook_counter c SET mail_due_for = date_trunc('milliseconds', now())
    FROM failed WHERE c.webhook_id = failed.id
  )
  SELECT id, partner_id AS "partnerId", org_id AS "orgId", name, failing_since AS "failingSince", is_gone AS "isGone"
  FROM failed`;

/** Finds webhooks that fail, across tenants. In SQL because rows are selected, locked and updated as a set. */
@Injectable()
export class AutoFailRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Sets webhooks to failed. Replicas may do so concurrently: each webhook is set once. */
  failDeadWebhooks(tx: WorkerTransaction, failingHours: number): Promise<FailedWebhook[]> {
    return tx.query<FailedWebhook>(FAIL, { failingHours });
  }

  listDueMails(): Promise<DueMail[]> {
    return this.worker.query<DueMail>(
      `SELECT w.id, w.partner_id AS "partnerId", w.org_id AS "orgId", w.name,
              coalesce(c.failing_since, c.mail_due_for) AS "failingSince", c.mail_due_for AS "failedAt",
              coalesce(o.name, p.name, '') AS "organizationName"
       FROM webhook_counter c JOIN webhook w ON w.id = c.webhook_id
       LEFT JOIN organization_directory o ON o.org_id = w.org_id
       LEFT JOIN partner_directory p ON p.partner_id = w.partner_id AND w.org_id IS NULL
       WHERE c.mail_due_for IS NOT NULL ORDER BY c.mail_due_for LIMIT ${BATCH}`,
    );
  }

  async markMailed({ id, failedAt }: DueMail): Promise<void> {
    await this.worker.query(
      'UPDATE webhook_counter SET mail_due_for = NULL WHERE webhook_id = :id AND mail_due_for = :failedAt',
      { id, failedAt: failedAt.toISOString() },
    );
  }
}
