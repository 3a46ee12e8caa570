import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { SubscriptionRow } from './subscription.mapper.js';

const COLUMNS = `
  w.id, w.partner_id AS "partnerId", w.org_id AS "orgId", w.url_sealed AS "urlSealed",
  w.secret_sealed AS "secretSealed", w.previous_secret_sealed AS "previousSecretSealed",
  w.secret_overlap_until AS "secretOverlapUntil", w.standard_webhooks AS "standardWebhooks", w.headers, w.events,
  w.status, w.retry_policy AS "retryPolicy"`;

export interface ChangedWebhooks {
  /** The argument of the next call. */
  horizon: string;
  rows: SubscriptionRow[];
}

/** Reads the webhooks of all tenants, with the worker login. */
@Injectable()
export class SubscriptionsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Lists the webhooks that may have changed since the read that returned `horizon`, and the next horizon.
   *
   * The horizon is the oldest open transaction: all older ones had ended and were visible. Unlike a time or a sequence
   * it never misses a row that commits late; a few rows may be returned twice.
   * @param horizon  '0' for all webhooks
   */
  async listChangedSince(horizon: string): Promise<ChangedWebhooks> {
    const rows = await this.worker.query<Omit<SubscriptionRow, 'id'> & { horizon: string; id: string | null }>(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, ${COLUMNS}
       FROM (SELECT) AS always LEFT JOIN webhook w ON w.changed_xid >= :horizon::xid8`,
      { horizon },
    );
    const [first] = rows;
    if (!first) throw new Error('A left join of one row returned none');
    return {
      horizon: first.horizon,
      rows: rows.filter((row): row is SubscriptionRow & { horizon: string } => row.id !== null),
    };
  }

  /** Returns the organizations with webhooks that are not active, or deleted: their deliveries wait. */
  async listRestingOrganizations(): Promise<Set<string>> {
    const rows = await this.worker.query<{ orgId: string }>(
      `SELECT o.org_id AS "orgId" FROM organization_directory o
       WHERE (o.deleted OR o.status NOT IN ('active', 'trial')) AND EXISTS (SELECT FROM webhook w WHERE w.org_id = o.org_id)`,
    );
    return new Set(rows.map(({ orgId }) => orgId));
  }

  /** Returns the ids of all active webhooks. */
  async listActiveIds(): Promise<Set<string>> {
    const rows = await this.worker.query<{ id: string }>(`SELECT id FROM webhook WHERE status = 'active'`);
    return new Set(rows.map(({ id }) => id));
  }
}
