import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { Outcome } from './outcome.js';

/**
 * Writes outcomes and returns those that were stored; the leases of the others had expired, and other replicas send
 * their deliveries. One statement keeps deliveries, attempts, dead letters and counters consistent. Counters are locked
 * in the order of ids, so that two writers never deadlock. The last attempt of a delivery is stored in its row, so a
 * delivery that succeeds at once needs no other row. Positional parameters, since this is the hottest statement.
 * The owner is compared with IS NOT DISTINCT FROM, which no index serves: with an index the planner, by statistics of a
 * quiet time, would look a row up among the thousands of its owner instead of by its key.
 */
const WRITE = `
  WITH outcome AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::text[], $5::int[], $6::int[], $7::float8[],
                         $8::int[], $9::text[], $10::int[], $11::text[], $12::bool[], $13::float8[], $14::uuid[],
                         $15::text[])
      AS o(id, created_at, owner, status, attempt_before, attempt, delay_ms,
           response_status, response_body, response_time_ms, error_message, is_dead_letter, started_s, request_shape,
           response_headers)
  ), written AS (
    UPDATE delivery d
       SET status = o.status, attempt = o.attempt, lease_owner = NULL,
           due_at = now() + o.delay_ms * INTERVAL '1 millisecond',
           response_status = o.response_status, response_body = o.response_body,
           response_time_ms = o.response_time_ms, error_message = o.error_message,
           delivered_at = CASE WHEN o.status = 'delivered' THEN now() END,
           started_at = to_timestamp(o.started_s), request_shape = o.request_shape,
           response_headers = o.response_headers
      FROM outcome o
     WHERE d.id = o.id AND d.created_at = o.created_at AND d.lease_owner IS NOT DISTINCT FROM o.owner
       AND d.attempt = o.attempt_before
    RETURNING d.id, d.created_at, d.partner_id, d.org_id, d.webhook_id, d.event_type, d.event_id, d.status, d.attempt,
              o.response_status, o.error_message, o.attempt_before, o.is_dead_letter, o.started_s, o.response_time_ms,
              o.request_shape, o.response_headers, o.response_body
  ), logged AS (
    INSERT INTO attempt (delivery_id, created_at, attempt, partner_id, org_id, started_at, duration_ms, request_shape,
                         response_status, response_headers, response_body, error_message)
    SELECT id, created_at, attempt, partner_id, org_id, to_timestamp(started_s), response_time_ms, request_shape,
           response_status, response_headers, response_body, error_message
      FROM written WHERE status = 'retrying'
    ON CONFLICT DO NOTHING
  ), letters AS (
    INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id,
                             attempts, response_status, error_message)
    SELECT id, now(), created_at, partner_id, org_id, webhook_id, event_type, event_id,
           attempt, response_status, error_message
      FROM written WHERE is_dead_letter
    ON CONFLICT DO NOTHING
  ), share AS (
    SELECT webhook_id, bool_or(attempt > attempt_before) AS attempted,
           bool_or(attempt > attempt_before AND status <> 'delivered') AS attempt_failed,
           count(*) FILTER (WHERE status = 'delivered') AS delivered,
           count(*) FILTER (WHERE status = 'failed') AS failed,
           sum((status = 'retrying')::int - (attempt_before > 0)::int) AS retrying
      FROM written GROUP BY webhook_id
  ), locked_counter AS (
    SELECT s.* FROM share s JOIN webhook_counter c USING (webhook_id) ORDER BY webhook_id FOR UPDATE OF c
  ), counted AS (
    UPDATE webhook_counter c
       SET delivered = c.delivered + l.delivered, failed = c.failed + l.failed, retrying = c.retrying + l.retrying,
           last_delivery_at = CASE WHEN l.attempted THEN now() ELSE c.last_delivery_at END,
           last_success_at = CASE WHEN l.delivered > 0 THEN now() ELSE c.last_success_at END,
           failing_since = CASE WHEN l.delivered > 0 THEN NULL
                                WHEN l.attempt_failed THEN coalesce(c.failing_since, now()) ELSE c.failing_since END
      FROM locked_counter l WHERE c.webhook_id = l.webhook_id
  )
  SELECT id FROM written`;

@Injectable()
export class OutcomesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Deletes deliveries that were inserted while their webhook was being deleted. */
  async deleteOrphans(outcomes: readonly Outcome[]): Promise<void> {
    await this.worker.query(
      `DELETE FROM delivery d USING unnest($1::uuid[], $2::timestamptz[]) AS k(id, created_at)
        WHERE d.id = k.id AND d.created_at = k.created_at
          AND NOT EXISTS (SELECT FROM webhook w WHERE w.id = d.webhook_id)`,
      [outcomes.map(({ delivery }) => delivery.id), outcomes.map(({ delivery }) => delivery.createdAt.toISOString())],
    );
  }

  /** @returns the ids of the deliveries whose outcome was stored */
  async write(outcomes: readonly Outcome[]): Promise<Set<string>> {
    const column = <T>(value: (outcome: Outcome) => T) => outcomes.map(value);
    const rows = await this.worker.query<{ id: string }>(WRITE, [
      column(({ delivery }) => delivery.id),
      column(({ delivery }) => delivery.createdAt.toISOString()),
      column(({ delivery }) => delivery.owner),
      column(({ status }) => status),
      column(({ delivery }) => delivery.attempt),
      column(({ delivery, attempted }) => delivery.attempt + (attempted ? 1 : 0)),
      column((outcome) => (outcome.status === 'retrying' ? outcome.delayMs : 0)),
      column(({ responseStatus }) => responseStatus),
      column(({ responseBody }) => responseBody),
      column(({ responseTimeMs }) => (responseTimeMs === null ? null : Math.round(responseTimeMs))),
      column(({ errorMessage }) => errorMessage),
      column((outcome) => outcome.status === 'failed' && outcome.isDeadLetter),
      column(({ startedMs }) => (startedMs === null ? null : startedMs / 1_000)),
      column(({ shape }) => shape?.id ?? null),
      column(({ responseHeaders }) => responseHeaders),
    ]);
    return new Set(rows.map(({ id }) => id));
  }
}
