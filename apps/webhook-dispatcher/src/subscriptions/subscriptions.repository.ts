import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { SubscriptionRow } from './subscription.js';

export interface ChangedWebhooks {
  /** Pass it to the next call. */
  horizon: string;
  rows: SubscriptionRow[];
}

/** Webhooks of all tenants, under the worker login. */
@Injectable()
export class SubscriptionsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Every webhook whose last change a look at `horizon` may not have shown, and the horizon of this look.
   *
   * The horizon is the oldest transaction still open: all before it had ended and were visible. So nothing that
   * commits late is missed, which a time or a sequence cannot promise; a few rows may come twice.
   * @param horizon  '0' for all of them
   */
  async changedSince(horizon: string): Promise<ChangedWebhooks> {
    const rows = await this.worker.query<SubscriptionRow & { horizon: string; id: string | null }>(
      `select pg_snapshot_xmin(pg_current_snapshot())::text as horizon, w.id, w.partner_id, w.org_id, w.url_sealed,
              w.secret_sealed, w.previous_secret_sealed, w.secret_overlap_until, w.standard_webhooks, w.headers,
              w.events, w.status, w.retry_policy
         from (select) as always left join webhook w on w.changed_xid >= $1::xid8`,
      [horizon],
    );
    const [first] = rows;
    if (!first) throw new Error('A left join of one row has returned none');
    return { horizon: first.horizon, rows: rows.filter((row) => row.id !== null) };
  }

  /** The ids of all active webhooks. */
  async activeIds(): Promise<Set<string>> {
    const rows = await this.worker.query<{ id: string }>(`select id from webhook where status = 'active'`);
    return new Set(rows.map(({ id }) => id));
  }
}
