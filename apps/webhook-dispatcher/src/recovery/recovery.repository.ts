import { Injectable } from '@nestjs/common';
import { NIL_UUID, type TenantTransaction, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import type { Webhook } from '../webhooks/webhook.entity.js';
import type { WebhookRecovery } from './webhook-recovery.entity.js';

/** A position in the history; the time is PostgreSQL's text, which is more precise than a `Date`. */
export interface HistoryCursor {
  createdAt: string;
  id: string;
}

/** Returns the position before all deliveries created at `time` or later. */
export const cursorBefore = (time: Date): HistoryCursor => ({ createdAt: time.toISOString(), id: NIL_UUID });

export interface CountRequest {
  webhookId: string;
  until: Date;
  after: HistoryCursor;
  /** The number of failed deliveries to read. */
  readLimit: number;
  /** The number of events to count. */
  countLimit: number;
}

export interface CountedChunk {
  /** The number of events that can be sent again. */
  accepted: number;
  /** The position of the last one of them. */
  last: HistoryCursor | null;
  /** Null at the end of the history. */
  next: HistoryCursor | null;
}

/** The failed deliveries that a job sends again: those after `after` up to `until`. */
export interface NewRecovery {
  id: string;
  webhookId: string;
  after: HistoryCursor;
  until: HistoryCursor;
}

/** A recovery that is locked by the transaction of its next chunk, with the webhook; times are PostgreSQL's texts. */
export type LockedRecovery = Pick<WebhookRecovery, 'id' | 'webhookId' | 'partnerId' | 'orgId' | 'afterId' | 'untilId'> &
  Record<'requestedAt' | 'afterCreatedAt' | 'untilCreatedAt', string> &
  Pick<Webhook, 'status' | 'retryPolicy'>;

/** Counts the next events that failed, each once, and were not sent again; leaves out what a job has yet to send. */
const COUNT_FAILED = `
  WITH candidate AS MATERIALIZED (
    SELECT d.id, d.created_at, d.event_id, coalesce(d.org_id, d.partner_id) AS owner_id
    FROM delivery d
    WHERE d.webhook_id = :webhookId AND d.status = 'failed' AND (d.created_at, d.id) > (:afterCreatedAt, :afterId)
      AND d.created_at < :until
      AND NOT EXISTS (
            SELECT FROM webhook_recovery p
            WHERE p.webhook_id = :webhookId AND (d.created_at, d.id) > (p.after_created_at, p.after_id)
              AND (d.created_at, d.id) <= (p.until_created_at, p.until_id))
    ORDER BY d.created_at, d.id LIMIT :readLimit
  ), event AS MATERIALIZED (
    SELECT DISTINCT ON (c.event_id) c.id, c.created_at
    FROM candidate c
    WHERE EXISTS (SELECT FROM event_body b
                  WHERE b.event_id = c.event_id AND b.org_id = c.owner_id AND b.created_at = c.created_at)
      AND NOT EXISTS (
            SELECT FROM delivery r
            WHERE r.webhook_id = :webhookId AND r.event_id = c.event_id AND r.repeat_of IS NOT NULL
              AND r.status <> 'failed')
    ORDER BY c.event_id, c.created_at, c.id
  ), wanted AS MATERIALIZED (
    SELECT created_at, id FROM event ORDER BY created_at, id LIMIT :countLimit
  )
  SELECT (SELECT count(*)::int FROM wanted) AS accepted, (SELECT count(*)::int FROM candidate) AS "readCount",
         r.created_at::text AS "nextCreatedAt", r.id AS "nextId", w.created_at::text AS "lastCreatedAt", w.id AS "lastId"
  FROM (SELECT) AS always
  LEFT JOIN (SELECT created_at, id FROM candidate ORDER BY created_at DESC, id DESC LIMIT 1) AS r ON true
  LEFT JOIN (SELECT created_at, id FROM wanted ORDER BY created_at DESC, id DESC LIMIT 1) AS w ON true`;

/** Inserts nothing for a webhook that was paused or deleted meanwhile. */
const INSERT_RECOVERY = `
  INSERT INTO webhook_recovery (id, webhook_id, partner_id, org_id, after_created_at, after_id, until_created_at, until_id)
  SELECT :id, w.id, w.partner_id, w.org_id, :afterCreatedAt, :afterId, :untilCreatedAt, :untilId
  FROM webhook w WHERE w.id = :webhookId AND w.status = 'active'
  FOR SHARE OF w
  RETURNING 1`;

/**
 * A second runner of the same recovery finds nothing while the first one has a chunk in progress; another recovery of the
 * webhook waits for the chunk and then sees its deliveries.
 */
const LOCK_RECOVERY = `
  SELECT r.id, r.webhook_id AS "webhookId", r.partner_id AS "partnerId", r.org_id AS "orgId",
         r.requested_at::text AS "requestedAt", r.after_created_at::text AS "afterCreatedAt", r.after_id AS "afterId",
         r.until_created_at::text AS "untilCreatedAt", r.until_id AS "untilId", w.status, w.retry_policy AS "retryPolicy"
  FROM webhook_recovery r JOIN webhook w ON w.id = r.webhook_id AND w.org_id IS NOT DISTINCT FROM r.org_id
  WHERE r.id = :id
  FOR UPDATE OF r SKIP LOCKED FOR NO KEY UPDATE OF w`;

/**
 * Sends the next failed deliveries again, each event once, by new deliveries that are due in the order of the failed
 * ones. Skips events that a later delivery has sent or will send, and those whose body is no longer stored.
 * Served by two small indexes, over failed deliveries and over deliveries that repeat another; dead letters are found by
 * the ids of the deliveries, since a webhook may have millions.
 */
const REPEAT_FAILED = `
  WITH candidate AS MATERIALIZED (
    SELECT id, created_at, partner_id, org_id, event_org_id, coalesce(org_id, partner_id) AS owner_id, event_type, event_id
    FROM delivery
    WHERE webhook_id = :webhookId AND org_id IS NOT DISTINCT FROM :orgId::uuid AND status = 'failed'
      AND (created_at, id) > (:afterCreatedAt, :afterId) AND (created_at, id) <= (:untilCreatedAt, :untilId)
    ORDER BY created_at, id LIMIT :readLimit
  ), event AS MATERIALIZED (
    SELECT DISTINCT ON (c.event_id) c.*, b.body
    FROM candidate c
    JOIN event_body b ON b.event_id = c.event_id AND b.org_id = c.owner_id AND b.created_at = c.created_at
    WHERE NOT EXISTS (
            SELECT FROM delivery r
            WHERE r.webhook_id = :webhookId AND r.event_id = c.event_id AND r.repeat_of IS NOT NULL
              AND (r.status <> 'failed' OR r.created_at >= :requestedAt))
    ORDER BY c.event_id, c.created_at, c.id
  ), wanted AS MATERIALIZED (
    SELECT e.*, row_number() OVER (ORDER BY e.created_at, e.id) AS row_no,
           date_trunc('milliseconds', statement_timestamp()) AS inserted_at
    FROM event e
  ), former AS MATERIALIZED (
    SELECT r.id, r.repeat_of
    FROM wanted w JOIN delivery r ON r.webhook_id = :webhookId AND r.event_id = w.event_id AND r.repeat_of IS NOT NULL
  ), inserted AS (
    INSERT INTO delivery (id, created_at, partner_id, org_id, event_org_id, webhook_id, event_type, event_id,
                          max_attempts, due_at, repeat_of)
    SELECT gen_random_uuid(), inserted_at, partner_id, org_id, event_org_id, :webhookId, event_type, event_id, :maxAttempts,
           inserted_at + row_no * interval '1 microsecond', id
    FROM wanted
    RETURNING id
  ), bodies AS (
    INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
    SELECT event_id, inserted_at, partner_id, owner_id, body FROM wanted
    ON CONFLICT DO NOTHING
  ), deleted_letter AS (
    DELETE FROM dead_letter l
    USING (SELECT id FROM wanted UNION SELECT id FROM former UNION SELECT repeat_of FROM former) AS sent(id)
    WHERE l.delivery_id = sent.id AND l.org_id IS NOT DISTINCT FROM :orgId::uuid
  ), counted AS (
    UPDATE webhook_counter SET total = total + (SELECT count(*) FROM inserted)
    WHERE webhook_id = :webhookId AND EXISTS (SELECT FROM inserted)
  )
  SELECT (SELECT count(*)::int FROM inserted) AS accepted, (SELECT count(*)::int FROM candidate) AS "readCount",
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

interface CountedRow {
  accepted: number;
  readCount: number;
  nextCreatedAt: string | null;
  nextId: string | null;
  lastCreatedAt: string | null;
  lastId: string | null;
}

type RepeatedRow = Pick<CountedRow, 'accepted' | 'readCount' | 'lastCreatedAt' | 'lastId'>;

/** Recovers deliveries as sets: each statement reads and writes a bounded number of deliveries. */
@Injectable()
export class RecoveryRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Makes other requests for the webhook wait until the transaction ends, so that no two count the same deliveries. */
  async lockRequests(tx: TenantTransaction, webhookId: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('webhook-recovery:' || :webhookId, 0))`, {
      webhookId,
    });
  }

  async countFailed(tx: TenantTransaction, { after, until, ...request }: CountRequest): Promise<CountedChunk> {
    const [row] = await tx.query<CountedRow>(COUNT_FAILED, {
      ...request,
      afterCreatedAt: after.createdAt,
      afterId: after.id,
      until: until.toISOString(),
    });
    if (!row) throw new Error('A left join of one row returned none');
    const isEnd = row.readCount < request.readLimit;
    return {
      accepted: row.accepted,
      last: toCursor(row.lastCreatedAt, row.lastId),
      next: isEnd ? null : toCursor(row.nextCreatedAt, row.nextId),
    };
  }

  /** @returns false when the webhook is not active any more */
  async insert(tx: TenantTransaction, { after, until, ...recovery }: NewRecovery): Promise<boolean> {
    const inserted = await tx.query(INSERT_RECOVERY, {
      ...recovery,
      afterCreatedAt: after.createdAt,
      afterId: after.id,
      untilCreatedAt: until.createdAt,
      untilId: until.id,
    });
    return inserted.length > 0;
  }

  /** Lists the recoveries that no job has finished, oldest first. */
  async listPending(): Promise<string[]> {
    const rows = await this.worker.query<{ id: string }>(
      'SELECT id FROM webhook_recovery ORDER BY requested_at, id LIMIT 1000',
    );
    return rows.map(({ id }) => id);
  }

  /** Returns null when the recovery is finished, its webhook deleted, or another runner has a chunk in progress. */
  async lock(tx: WorkerTransaction, id: string): Promise<LockedRecovery | null> {
    const [row] = await tx.query<LockedRecovery>(LOCK_RECOVERY, { id });
    return row ?? null;
  }

  /** Sends the next failed deliveries of a locked recovery again. @returns how many, and whether more are left */
  async repeatChunk(
    tx: WorkerTransaction,
    { id, partnerId: _partnerId, status: _status, retryPolicy: _policy, ...recovery }: LockedRecovery,
    { maxAttempts, readLimit }: { maxAttempts: number; readLimit: number },
  ): Promise<{ accepted: number; isLeft: boolean }> {
    const [row] = await tx.query<RepeatedRow>(REPEAT_FAILED, { ...recovery, maxAttempts, readLimit });
    if (!row) throw new Error('A left join of one row returned none');
    const last = row.readCount < readLimit ? null : toCursor(row.lastCreatedAt, row.lastId);
    if (last) {
      await tx.query('UPDATE webhook_recovery SET after_created_at = :createdAt, after_id = :lastId WHERE id = :id', {
        id,
        createdAt: last.createdAt,
        lastId: last.id,
      });
    } else await this.delete(tx, id);
    return { accepted: row.accepted, isLeft: last !== null };
  }

  async delete(tx: WorkerTransaction, id: string): Promise<void> {
    await tx.query('DELETE FROM webhook_recovery WHERE id = :id', { id });
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

const toCursor = (createdAt: string | null, id: string | null): HistoryCursor | null =>
  createdAt === null || id === null ? null : { createdAt, id };
