import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { EventInProgress, Outcome, QueuedDelivery } from './queued-delivery.js';

/**
 * Writes a set of outcomes and the texts of their events. A delivery is inserted with the state it has reached, which is
 * its final state when it ended quickly, and updated later otherwise. Every outcome of an attempt has a start.
 *
 * - An outcome is accepted by the epoch of its partition, since a new owner may send what a former one would schedule.
 *   What was delivered is true also when a former owner writes it, and so is the outcome of a row that its new owner leaves alone.
 * - A row is updated only while it is open and has the attempts from which the outcome was made.
 * - One statement keeps deliveries, attempts, dead letters and counters consistent; each counter is updated once.
 * - Deliveries of deleted webhooks are skipped.
 * - A pause that a receiver asked for is kept for the next owner; a shorter one does not end it.
 * Positional parameters, since this is the hottest statement.
 */
const WRITE = `
  WITH outcome AS MATERIALIZED (
    SELECT o.*, w.partner_id, w.org_id,
           EXISTS (SELECT FROM delivery_partition p WHERE p.partition = o.partition AND p.epoch = o.epoch) AS is_owner
    FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::text[], $5::text[], $6::int[], $7::smallint[], $8::int[],
                $9::text[], $10::int[], $11::float8[], $12::int[], $13::text[], $14::int[], $15::text[], $16::float8[],
                $17::uuid[], $18::text[], $24::uuid[])
      AS o(id, created_at, webhook_id, event_id, event_type, max_attempts, partition, epoch,
           status, attempt, delay_ms, response_status, response_body, response_time_ms, error_message, started_s,
           request_shape, response_headers, event_org_id)
    JOIN webhook w ON w.id = o.webhook_id
  ), written AS (
    INSERT INTO delivery AS d (id, created_at, partner_id, org_id, event_org_id, webhook_id, event_type, event_id, max_attempts, status,
                               attempt, due_at, response_status, response_body, response_time_ms, error_message,
                               started_at, request_shape, response_headers, delivered_at)
    SELECT o.id, o.created_at, o.partner_id, o.org_id, o.event_org_id, o.webhook_id, o.event_type, o.event_id,
           o.max_attempts, o.status, o.attempt, now() + o.delay_ms * INTERVAL '1 millisecond', o.response_status, o.response_body,
           o.response_time_ms, o.error_message, to_timestamp(o.started_s), o.request_shape, o.response_headers,
           CASE WHEN o.status = 'delivered' THEN now() END
    FROM outcome o
    WHERE o.is_owner OR o.status = 'delivered'
       OR EXISTS (SELECT FROM delivery reserved
                  WHERE reserved.id = o.id AND reserved.created_at = o.created_at AND reserved.due_at > now())
    ON CONFLICT (id, created_at) DO UPDATE
       SET status = excluded.status, attempt = excluded.attempt, due_at = excluded.due_at, revision = d.revision + 1,
           response_status = excluded.response_status, response_body = excluded.response_body,
           response_time_ms = excluded.response_time_ms, error_message = excluded.error_message,
           started_at = excluded.started_at, request_shape = excluded.request_shape,
           response_headers = excluded.response_headers, delivered_at = excluded.delivered_at
     WHERE d.status IN ('pending', 'retrying')
       AND d.attempt = excluded.attempt - (excluded.started_at IS NOT NULL)::int
       AND (excluded.started_at IS NOT NULL OR excluded.status = 'failed')
    RETURNING d.id, d.created_at, d.partner_id, d.org_id, d.event_org_id, d.webhook_id, d.event_type, d.event_id, d.status, d.attempt,
              d.revision, d.response_status, d.error_message, d.started_at, d.response_time_ms, d.request_shape,
              d.response_headers, d.response_body
  ), bodies AS (
    INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
    SELECT * FROM unnest($19::text[], $20::timestamptz[], $21::uuid[], $22::uuid[], $23::text[])
    ON CONFLICT DO NOTHING
  ), logged AS (
    INSERT INTO attempt (delivery_id, created_at, attempt, partner_id, org_id, started_at, duration_ms, request_shape,
                         response_status, response_headers, response_body, error_message)
    SELECT id, created_at, attempt, partner_id, org_id, started_at, response_time_ms, request_shape,
           response_status, response_headers, response_body, error_message
    FROM written WHERE status = 'retrying' AND started_at IS NOT NULL
    ON CONFLICT DO NOTHING
  ), letters AS (
    INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, event_org_id, webhook_id,
                             event_type, event_id, attempts, response_status, error_message)
    SELECT id, now(), created_at, partner_id, org_id, event_org_id, webhook_id, event_type, event_id,
           attempt, response_status, error_message
    FROM written WHERE status = 'failed' AND started_at IS NOT NULL
    ON CONFLICT DO NOTHING
  ), share AS (
    SELECT webhook_id, count(*) FILTER (WHERE revision = 0) AS added,
           bool_or(started_at IS NOT NULL) AS attempted,
           bool_or(started_at IS NOT NULL AND status <> 'delivered') AS attempt_failed,
           count(*) FILTER (WHERE status = 'delivered') AS delivered,
           count(*) FILTER (WHERE status = 'failed') AS failed,
           sum((status = 'retrying')::int - (revision > 0 AND attempt > (started_at IS NOT NULL)::int)::int) AS retrying
    FROM written GROUP BY webhook_id
  ), locked_counter AS (
    SELECT s.*, p.pause_ms FROM share s JOIN webhook_counter c USING (webhook_id)
    LEFT JOIN unnest($25::uuid[], $26::float8[]) AS p(webhook_id, pause_ms) USING (webhook_id)
    ORDER BY webhook_id FOR UPDATE OF c
  ), counted AS (
    UPDATE webhook_counter c
       SET total = c.total + l.added, delivered = c.delivered + l.delivered, failed = c.failed + l.failed,
           retrying = c.retrying + l.retrying,
           last_delivery_at = CASE WHEN l.attempted THEN now() ELSE c.last_delivery_at END,
           last_success_at = CASE WHEN l.delivered > 0 THEN now() ELSE c.last_success_at END,
           failing_since = CASE WHEN l.delivered > 0 THEN NULL
                                WHEN l.attempt_failed THEN coalesce(c.failing_since, now()) ELSE c.failing_since END,
           paused_until = greatest(c.paused_until, now() + l.pause_ms * INTERVAL '1 millisecond')
      FROM locked_counter l WHERE c.webhook_id = l.webhook_id
  )
  SELECT CASE WHEN (SELECT count(*) FROM written) < cardinality($1::uuid[])
              THEN (SELECT coalesce(array_agg(id), '{}') FROM written) END AS written,
         (SELECT array_agg(DISTINCT partition) FROM outcome WHERE NOT is_owner) AS lost`;

/** Keeps open rows from being sent by their next owner while their attempts are in flight here. */
const RESERVE = `
  UPDATE delivery d SET due_at = now() + :reserveMs * INTERVAL '1 millisecond'
  FROM unnest(:ids::uuid[], :createdAt::timestamptz[]) AS k(id, created_at)
  WHERE d.id = k.id AND d.created_at = k.created_at AND d.status IN ('pending', 'retrying')`;

export interface WrittenOutcomes {
  /** The ids of the deliveries that were stored; null when all were. */
  written: ReadonlySet<string> | null;
  /** Partitions that belong to another owner now. */
  lost: readonly number[];
}

@Injectable()
export class OutcomesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @param epochOf  returns the epoch under which this replica has a partition */
  async write(outcomes: readonly Outcome[], epochOf: (partition: number) => number): Promise<WrittenOutcomes> {
    const plain = (read: (outcome: Outcome) => string | number | null) => plainArrayText(outcomes, read);
    const text = (read: (outcome: Outcome) => string | null) => arrayText(outcomes, read);
    const bodies = bodiesToStore(outcomes);
    const pauses = [...longestPauses(outcomes)];
    const [row] = await this.worker.query<{ written: string[] | null; lost: number[] | null }>(WRITE, [
      plain(({ delivery }) => delivery.id),
      plain(({ delivery }) => delivery.createdAt.toISOString()),
      plain(({ delivery }) => delivery.webhookId),
      text(({ delivery }) => delivery.eventId),
      text(({ delivery }) => delivery.eventType),
      plain(({ delivery }) => delivery.maxAttempts),
      plain(({ delivery }) => delivery.partition),
      plain(({ delivery }) => epochOf(delivery.partition)),
      plain(({ status }) => status),
      plain(({ delivery, startedMs }) => delivery.attempt + (startedMs === null ? 0 : 1)),
      plain(({ delayMs }) => delayMs),
      plain(({ responseStatus }) => responseStatus),
      text(({ responseBody }) => responseBody),
      plain(({ responseTimeMs }) => (responseTimeMs === null ? null : Math.round(responseTimeMs))),
      text(({ errorMessage }) => errorMessage),
      plain(({ startedMs }) => (startedMs === null ? null : startedMs / 1_000)),
      plain(({ shape }) => shape?.id ?? null),
      text(({ responseHeaders }) => responseHeaders),
      arrayText(bodies, ({ eventId }) => eventId),
      plainArrayText(bodies, ({ createdAt }) => createdAt.toISOString()),
      plainArrayText(bodies, ({ partnerId }) => partnerId),
      plainArrayText(bodies, ({ orgId }) => orgId),
      textArrayBytes(bodies.map(({ body }) => body)),
      plain(({ delivery }) => delivery.event?.eventOrgId ?? null),
      plainArrayText(pauses, ([webhookId]) => webhookId),
      plainArrayText(pauses, ([, pauseMs]) => pauseMs),
    ]);
    for (const event of bodies) event.isBodyStored = true;
    return { written: row?.written ? new Set(row.written) : null, lost: row?.lost ?? [] };
  }

  /** Makes stored deliveries due later. */
  async reserve(deliveries: readonly QueuedDelivery[], reserveMs: number): Promise<void> {
    const ids = deliveries.map(({ id }) => id);
    const createdAt = deliveries.map((delivery) => delivery.createdAt.toISOString());
    await this.worker.query(RESERVE, { ids, createdAt, reserveMs });
  }
}

function bodiesToStore(outcomes: readonly Outcome[]): EventInProgress[] {
  const events = new Set<EventInProgress>();
  for (const { delivery } of outcomes) if (delivery.event?.isBodyStored === false) events.add(delivery.event);
  return [...events];
}

/** Returns the longest pause that each receiver asked for, of those that did. */
function longestPauses(outcomes: readonly Outcome[]): Map<string, number> {
  const pauses = new Map<string, number>();
  for (const { pauseMs, delivery } of outcomes) {
    if (pauseMs > (pauses.get(delivery.webhookId) ?? 0)) pauses.set(delivery.webhookId, pauseMs);
  }
  return pauses;
}

/** Returns about how many bytes an outcome adds to its statement. */
export const bytesOf = ({ delivery, responseBody }: Outcome): number =>
  500 + (responseBody?.length ?? 0) + (delivery.event && !delivery.event.isBodyStored ? delivery.event.body.length : 0);

/**
 * Arrays as PostgreSQL reads them from text. `pg` writes an array element by element into one growing string, which took
 * a fifth of all memory that a delivery allocates.
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** Returns an array of any short texts. */
export const arrayText = <T>(items: readonly T[], read: (item: T) => string | null): string =>
  `{${items.map((item) => quoted(read(item))).join(',')}}`;

/** Returns an array of values without special characters: numbers, times, UUIDs, names of states. */
export const plainArrayText = <T>(items: readonly T[], read: (item: T) => string | number | null): string =>
  `{${items.map((item) => read(item) ?? 'NULL').join(',')}}`;

function quoted(text: string | null): string {
  if (text === null) return 'NULL';
  return SPECIAL.test(text) ? `"${text.replace(EACH_SPECIAL, '\\$&')}"` : `"${text}"`;
}

const TEXT_TYPE = 25;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;

/**
 * Returns an array of UTF-8 texts in the binary format, which needs no quotes: those of a text of 240 KB took longer than
 * its signature.
 */
export function textArrayBytes(texts: readonly Buffer[]): Buffer {
  const size = texts.reduce((sum, text) => sum + LENGTH_BYTES + text.length, HEADER_BYTES);
  const array = Buffer.allocUnsafe(size);
  // The number of dimensions, whether there are nulls, the type of the elements, their number, the first index.
  const header = [1, 0, TEXT_TYPE, texts.length, 1];
  let at = 0;
  for (const field of header) at = array.writeInt32BE(field, at);
  for (const text of texts) {
    at = array.writeInt32BE(text.length, at);
    at += text.copy(array, at);
  }
  return array;
}
