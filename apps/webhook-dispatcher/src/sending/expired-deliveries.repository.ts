import { Injectable } from '@nestjs/common';
import { NIL_UUID, WorkerDatabase } from '@rmm/persistence';
import { partitionOf } from '../replicas/partition-of.js';
import type { QueuedDelivery } from './queued-delivery.js';

/** The position of a row in the order of the index of open rows. */
export interface OpenRowPosition {
  webhookId: string;
  /** In the text of the database, which has microseconds. */
  dueAt: string;
  id: string;
}

/** An open delivery without its text, which is not sent. */
export interface ExpiredDelivery {
  delivery: QueuedDelivery;
  position: OpenRowPosition;
  /** False for the row of a deleted webhook that the purge did not find. */
  hasWebhook: boolean;
}

interface ExpiredRow extends OpenRowPosition {
  createdAt: Date;
  partnerId: string;
  orgId: string;
  eventId: string;
  eventType: string;
  attempt: number;
  maxAttempts: number;
  hasWebhook: boolean;
}

const OPEN = `d.status IN ('pending', 'retrying')`;

const LIST_EXPIRED = `
  SELECT d.webhook_id AS "webhookId", d.due_at::text AS "dueAt", d.id, d.created_at AS "createdAt", d.partner_id AS "partnerId",
         coalesce(d.org_id, d.partner_id) AS "orgId", d.event_id AS "eventId", d.event_type AS "eventType", d.attempt,
         d.max_attempts AS "maxAttempts", EXISTS (SELECT FROM webhook w WHERE w.id = d.webhook_id) AS "hasWebhook"
  FROM delivery d
  WHERE ${OPEN} AND d.created_at < now() - :days * INTERVAL '1 day'
    AND (d.webhook_id, d.due_at, d.id) > (:webhookId::uuid, :dueAt::timestamptz, :id::uuid)
  ORDER BY d.webhook_id, d.due_at, d.id LIMIT :limit`;

/** The creation time of the oldest of up to 10,000 open rows of the first day that has any: one index probe for each day. */
const FIND_OLDEST = `
  SELECT extract(epoch FROM now() - o.created_at)::float8 AS age
  FROM (
    SELECT day.since, day.until
    FROM (SELECT CASE WHEN n = :days THEN '-infinity' ELSE now() - (n + 1) * INTERVAL '1 day' END AS since,
                 CASE WHEN n = 0 THEN 'infinity' ELSE now() - n * INTERVAL '1 day' END AS until
          FROM generate_series(:days::int, 0, -1) n) day
    CROSS JOIN LATERAL (SELECT FROM delivery d
                        WHERE ${OPEN} AND d.created_at >= day.since AND d.created_at < day.until LIMIT 1) found
    ORDER BY day.since LIMIT 1
  ) oldest
  CROSS JOIN LATERAL (
    SELECT min(created_at) AS created_at
    FROM (SELECT d.created_at FROM delivery d
          WHERE ${OPEN} AND d.created_at >= oldest.since AND d.created_at < oldest.until LIMIT 10000) open_row
  ) o`;

const DELETE_ROWS = `
  DELETE FROM delivery d USING unnest(:ids::uuid[], :createdAt::timestamptz[]) AS row(id, created_at)
  WHERE d.id = row.id AND d.created_at = row.created_at AND NOT EXISTS (SELECT FROM webhook w WHERE w.id = d.webhook_id)`;

const START: OpenRowPosition = {
  webhookId: NIL_UUID,
  dueAt: '-infinity',
  id: NIL_UUID,
};

/** Finds the deliveries that are still open when their retention is about to end. */
@Injectable()
export class ExpiredDeliveriesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Lists the next open rows that are older than some days. @param after  null for the first ones */
  async list(days: number, limit: number, after: OpenRowPosition | null): Promise<ExpiredDelivery[]> {
    const { webhookId, dueAt, id } = after ?? START;
    const rows = await this.worker.query<ExpiredRow>(LIST_EXPIRED, { days, limit, webhookId, dueAt, id });
    return rows.map(toExpired);
  }

  /** Returns the age in seconds of the oldest open delivery; 0 without any. */
  async findOldestAge(days: number): Promise<number> {
    const [oldest] = await this.worker.query<{ age: number }>(FIND_OLDEST, { days });
    return oldest?.age ?? 0;
  }

  /** Deletes rows whose webhook does not exist. */
  async deleteWithoutWebhook(deliveries: readonly QueuedDelivery[]): Promise<void> {
    const ids = deliveries.map(({ id }) => id);
    const createdAt = deliveries.map((delivery) => delivery.createdAt.toISOString());
    await this.worker.query(DELETE_ROWS, { ids, createdAt });
  }
}

const toExpired = ({ dueAt, hasWebhook, ...row }: ExpiredRow): ExpiredDelivery => ({
  position: { webhookId: row.webhookId, dueAt, id: row.id },
  hasWebhook,
  delivery: {
    ...row,
    partition: partitionOf(row.orgId),
    body: null,
    event: null,
    isStored: true,
    hasOutcome: false,
    state: 'table',
  },
});
