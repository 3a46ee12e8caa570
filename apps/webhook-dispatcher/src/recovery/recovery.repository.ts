import { Injectable } from '@nestjs/common';
import type { TenantTransaction } from '@rmm/persistence';

/** A position in the history; the time is PostgreSQL's text, which is more precise than a `Date`. */
export interface HistoryCursor {
  createdAt: string;
  id: string;
}

/** Returns the position before all deliveries created at `since` or later. */
export const cursorBefore = (since: Date): HistoryCursor => ({
  createdAt: since.toISOString(),
  id: '00000000-0000-0000-0000-000000000000',
});

export interface RepeatRequest {
  webhookId: string;
  until: Date;
  /** When the request began: events that were sent again since then are skipped. */
  startedAt: Date;
  /** Attempts each new delivery may take. */
  maxAttempts: number;
  after: HistoryCursor;
  /** The number of failed deliveries to read. */
  readLimit: number;
  /** The number of new deliveries to insert. */
  insertLimit: number;
}

export interface RepeatedChunk {
  /** The number of new deliveries. */
  accepted: number;
  /** Null at the end of the history. */
  next: HistoryCursor | null;
}

/**
 * Sends the next failed deliveries again, each event once, by new deliveries that are due in the order of the failed
 * ones. Skips events that a later delivery has sent or will send, and those whose body is no longer stored.
 * Served by two small indexes: over failed deliveries, and over deliveries that repeat another.
 */
const REPEAT_FAILED = `
  WITH candidate AS MATERIALIZED (
    SELECT id, created_at, org_id, event_type, event_id
    FROM delivery
    WHERE webhook_id = :webhookId AND status = 'failed' AND (created_at, id) > (:afterCreatedAt, :afterId)
      AND created_at < :until
    ORDER BY created_at, id LIMIT :readLimit
  ), event AS MATERIALIZED (
    SELECT DISTINCT ON (c.event_id) c.id, c.created_at, c.event_type, c.event_id, b.partner_id, b.org_id, b.body
    FROM candidate c
    JOIN event_body b ON b.event_id = c.event_id AND b.org_id = c.org_id AND b.created_at = c.created_at
    WHERE NOT EXISTS (
            SELECT FROM delivery r
            WHERE r.webhook_id = :webhookId AND r.event_id = c.event_id AND r.repeat_of IS NOT NULL
              AND (r.status <> 'failed' OR r.created_at >= :startedAt))
    ORDER BY c.event_id, c.created_at, c.id
  ), wanted AS MATERIALIZED (
    SELECT e.*, row_number() OVER (ORDER BY e.created_at, e.id) AS row_no,
           date_trunc('milliseconds', statement_timestamp()) AS inserted_at
    FROM event e ORDER BY e.created_at, e.id LIMIT :insertLimit
  ), inserted AS (
    INSERT INTO delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at,
                          repeat_of)
    SELECT gen_random_uuid(), inserted_at, partner_id, org_id, :webhookId, event_type, event_id, :maxAttempts,
           inserted_at + row_no * interval '1 microsecond', id
    FROM wanted
    RETURNING id
  ), bodies AS (
    INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
    SELECT event_id, inserted_at, partner_id, org_id, body FROM wanted
    ON CONFLICT DO NOTHING
  ), deleted_letter AS (
    DELETE FROM dead_letter
    WHERE webhook_id = :webhookId AND event_id IN (SELECT event_id FROM wanted)
  ), counted AS (
    UPDATE webhook_counter SET total = total + (SELECT count(*) FROM inserted)
    WHERE webhook_id = :webhookId AND EXISTS (SELECT FROM inserted)
  )
  SELECT (SELECT count(*)::int FROM inserted) AS accepted,
         (SELECT count(*)::int FROM candidate) AS "readCount",
         last.created_at::text AS "lastCreatedAt", last.id AS "lastId"
  FROM (SELECT) AS always
  LEFT JOIN (SELECT created_at, id FROM candidate ORDER BY created_at DESC, id DESC LIMIT 1) AS last ON true`;

/** Deliveries whose attempt is under way are due already. */
const BRING_FORWARD = `
  WITH picked AS (
    SELECT id, created_at FROM delivery
    WHERE webhook_id = :webhookId AND status = 'retrying' AND due_at > now()
      AND created_at >= :since AND created_at < :until
    ORDER BY created_at, id LIMIT :limit
    FOR UPDATE SKIP LOCKED
  )
  UPDATE delivery d SET due_at = now() FROM picked p
  WHERE d.id = p.id AND d.created_at = p.created_at
  RETURNING 1`;

interface RepeatedRow {
  accepted: number;
  readCount: number;
  lastCreatedAt: string | null;
  lastId: string | null;
}

/** Recovers deliveries as sets: each call is one statement over a bounded number of deliveries. */
@Injectable()
export class RecoveryRepository {
  async repeatFailed(
    tx: TenantTransaction,
    { after, until, startedAt, ...request }: RepeatRequest,
  ): Promise<RepeatedChunk> {
    const [row] = await tx.query<RepeatedRow>(REPEAT_FAILED, {
      ...request,
      afterCreatedAt: after.createdAt,
      afterId: after.id,
      until: until.toISOString(),
      startedAt: startedAt.toISOString(),
    });
    if (!row) throw new Error('A left join of one row returned none');
    const { accepted, readCount, lastCreatedAt, lastId } = row;
    const isEnd = readCount < request.readLimit || lastCreatedAt === null || lastId === null;
    return { accepted, next: isEnd ? null : { createdAt: lastCreatedAt, id: lastId } };
  }

  /** Sets retries due that wait for the time of their next attempt. @returns how many */
  async bringForward(
    tx: TenantTransaction,
    { webhookId, since, until, limit }: { webhookId: string; since: Date; until: Date; limit: number },
  ): Promise<number> {
    const period = { since: since.toISOString(), until: until.toISOString() };
    return (await tx.query(BRING_FORWARD, { webhookId, ...period, limit })).length;
  }
}
