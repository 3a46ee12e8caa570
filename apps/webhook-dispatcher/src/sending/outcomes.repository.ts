import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { Outcome } from './outcome.js';

/**
 * Outcomes that were written; the others' leases were lost meanwhile, and somebody else has their deliveries.
 * One statement: deliveries, attempts, dead letters and counters stay together. Rows are locked in the order of their
 * ids, so that two writers never wait for each other in a circle. An attempt that is the last of its delivery stands
 * in the delivery's own row: a delivery that succeeds at once costs no row beside it.
 * The owner is compared in a form that no index serves: statistics taken while little is held would have the planner look
 * a row up among all that its owner holds, thousands, instead of by its key.
 */
const WRITE = `
  with outcome as materialized (
    select * from unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::text[], $5::int[], $6::int[], $7::float8[],
                         $8::int[], $9::text[], $10::int[], $11::text[], $12::bool[], $13::float8[], $14::uuid[],
                         $15::text[])
      as o(id, created_at, owner, status, attempt_before, attempt, delay_ms,
           response_status, response_body, response_time_ms, error_message, is_dead_letter, started_s, request_shape,
           response_headers)
  ), written as (
    update delivery d
       set status = o.status, attempt = o.attempt, lease_owner = null,
           due_at = now() + o.delay_ms * interval '1 millisecond',
           response_status = o.response_status, response_body = o.response_body,
           response_time_ms = o.response_time_ms, error_message = o.error_message,
           delivered_at = case when o.status = 'delivered' then now() end,
           started_at = to_timestamp(o.started_s), request_shape = o.request_shape,
           response_headers = o.response_headers
      from outcome o
     where d.id = o.id and d.created_at = o.created_at and d.lease_owner is not distinct from o.owner
       and d.attempt = o.attempt_before
    returning d.id, d.created_at, d.partner_id, d.org_id, d.webhook_id, d.event_type, d.event_id, d.status, d.attempt,
              o.response_status, o.error_message, o.attempt_before, o.is_dead_letter, o.started_s, o.response_time_ms,
              o.request_shape, o.response_headers, o.response_body
  ), logged as (
    insert into attempt (delivery_id, created_at, attempt, partner_id, org_id, started_at, duration_ms, request_shape,
                         response_status, response_headers, response_body, error_message)
    select id, created_at, attempt, partner_id, org_id, to_timestamp(started_s), response_time_ms, request_shape,
           response_status, response_headers, response_body, error_message
      from written where status = 'retrying'
    on conflict do nothing
  ), letters as (
    insert into dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id,
                             attempts, response_status, error_message)
    select id, now(), created_at, partner_id, org_id, webhook_id, event_type, event_id,
           attempt, response_status, error_message
      from written where is_dead_letter
    on conflict do nothing
  ), share as (
    select webhook_id, bool_or(attempt > attempt_before) as attempted,
           bool_or(attempt > attempt_before and status <> 'delivered') as attempt_failed,
           count(*) filter (where status = 'delivered') as delivered,
           count(*) filter (where status = 'failed') as failed,
           sum((status = 'retrying')::int - (attempt_before > 0)::int) as retrying
      from written group by webhook_id
  ), locked as (
    select s.* from share s join webhook_counter c using (webhook_id) order by webhook_id for update of c
  ), counted as (
    update webhook_counter c
       set delivered = c.delivered + l.delivered, failed = c.failed + l.failed, retrying = c.retrying + l.retrying,
           last_delivery_at = case when l.attempted then now() else c.last_delivery_at end,
           last_success_at = case when l.delivered > 0 then now() else c.last_success_at end,
           failing_since = case when l.delivered > 0 then null
                                when l.attempt_failed then coalesce(c.failing_since, now()) else c.failing_since end
      from locked l where c.webhook_id = l.webhook_id
  )
  select id from written`;

@Injectable()
export class OutcomesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Rows that were inserted while their webhook was being deleted: nobody would ever see or delete them. */
  async dropOrphans(outcomes: readonly Outcome[]): Promise<void> {
    await this.worker.query(
      `delete from delivery d using unnest($1::uuid[], $2::timestamptz[]) as k(id, created_at)
        where d.id = k.id and d.created_at = k.created_at
          and not exists (select from webhook w where w.id = d.webhook_id)`,
      [outcomes.map(({ delivery }) => delivery.id), outcomes.map(({ delivery }) => delivery.createdAt.toISOString())],
    );
  }

  /** @returns the ids of the deliveries whose outcome now stands */
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
