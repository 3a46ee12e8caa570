import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { SubscriptionRow } from './subscription.mapper.js';

const COLUMNS = `
  w.partner_id AS "partnerId", w.org_id AS "orgId", w.url_sealed AS "urlSealed",
  w.secret_sealed AS "secretSealed", w.previous_secret_sealed AS "previousSecretSealed",
  w.secret_overlap_until AS "secretOverlapUntil", w.standard_webhooks AS "standardWebhooks", w.headers, w.events,
  w.status, w.retry_policy AS "retryPolicy"`;

export interface ChangedWebhooks {
  /** The argument of the next call. */
  horizon: string;
  rows: SubscriptionRow[];
  deletedIds: string[];
}

/** Reads the webhooks of all tenants, with the worker login. */
@Injectable()
export class SubscriptionsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Lists the webhooks that may have changed or been deleted since the read that returned `horizon`, and the next horizon.
   *
   * The horizon is the oldest open transaction: all older ones had ended and were visible. Unlike a time or a sequence
   * it never misses a row that commits late; a few rows may be returned twice. A deletion is listed for a minute at least.
   * @param horizon  '0' for all webhooks
   */
  async listChangedSince(horizon: string): Promise<ChangedWebhooks> {
    const rows = await this.worker.query<SubscriptionRow & { horizon: string; isDeleted: boolean | null }>(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, ${COLUMNS}, c.id, c."isDeleted"
       FROM (SELECT) AS always
       LEFT JOIN (SELECT id, false AS "isDeleted" FROM webhook WHERE changed_xid >= :horizon::xid8
                  UNION ALL
                  SELECT webhook_id, true FROM deleted_webhook WHERE changed_xid >= :horizon::xid8) c ON true
       LEFT JOIN webhook w ON w.id = c.id`,
      { horizon },
    );
    const [first] = rows;
    if (!first) throw new Error('A left join of one row returned none');
    return {
      horizon: first.horizon,
      rows: rows.filter(({ isDeleted }) => isDeleted === false),
      deletedIds: rows.filter(({ isDeleted }) => isDeleted === true).map(({ id }) => id),
    };
  }

  /**
   * Returns the organizations with webhooks that are not active or deleted, or whose partner is not active, and the partners
   * with webhooks that are not active: their deliveries wait.
   */
  async listRestingOrganizations(): Promise<Set<string>> {
    const rows = await this.worker.query<{ orgId: string }>(
      `SELECT o.org_id AS "orgId" FROM organization_directory o
       WHERE (o.deleted OR o.status NOT IN ('active', 'trial'))
         AND EXISTS (SELECT FROM webhook w WHERE w.org_id = o.org_id)
       UNION ALL
       SELECT o.org_id FROM partner_directory p JOIN organization_directory o ON o.partner_id = p.partner_id
       WHERE p.status <> 'active' AND EXISTS (SELECT FROM webhook w WHERE w.org_id = o.org_id)
       UNION ALL
       SELECT p.partner_id FROM partner_directory p
       WHERE p.status <> 'active'
         AND EXISTS (SELECT FROM webhook w WHERE w.partner_id = p.partner_id AND w.org_id IS NULL)`,
    );
    return new Set(rows.map(({ orgId }) => orgId));
  }

  /** Returns the ids of all active webhooks. */
  async listActiveIds(): Promise<Set<string>> {
    const rows = await this.worker.query<{ id: string }>(`SELECT id FROM webhook WHERE status = 'active'`);
    return new Set(rows.map(({ id }) => id));
  }
}
