import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

export interface IntakeEvent {
  eventId: string;
  eventType: string;
  /** Time of its deliveries. */
  createdAt: Date;
  body: string;
}

export interface IntakeDelivery {
  id: string;
  webhookId: string;
  /** Attempts at most. */
  maxAttempts: number;
  shard: number;
  /** Who holds it: this process, its organisation, or nobody. */
  owner: string | null;
  event: IntakeEvent;
}

/**
 * All deliveries of a batch in one statement, held from the start by whom each says.
 * - The webhook is looked at once more: paused or deleted meanwhile, it gets none.
 * - An id that is there is left alone; an event republished with another time is met by the look at the last day.
 * - Bodies are stored once per event, counters raised once per webhook, in the order of their ids.
 */
const INSERT = `
  with event as materialized (
    select * from unnest($1::int[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
      as e(n, event_id, event_type, created_at, body)
  ), wanted as materialized (
    select d.id, d.n, d.max_attempts, d.shard, d.owner, w.id as webhook_id, w.partner_id, w.org_id, e.event_id,
           e.event_type, e.created_at
      from unnest($6::uuid[], $7::uuid[], $8::int[], $9::int[], $10::smallint[], $11::uuid[])
        as d(id, webhook_id, n, max_attempts, shard, owner)
      join event e on e.n = d.n
      join webhook w on w.id = d.webhook_id and w.status = 'active'
     where not exists (select from delivery known where known.id = d.id and known.created_at > now() - interval '1 day')
  ), made as (
    insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, shard,
                          lease_owner)
    select id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, shard, owner from wanted
    on conflict do nothing
    returning id, webhook_id
  ), bodies as (
    insert into event_body (event_id, created_at, partner_id, org_id, body)
    select distinct on (w.n) w.event_id, w.created_at, w.partner_id, w.org_id, e.body
      from wanted w join event e on e.n = w.n
    on conflict do nothing
  ), share as (
    select webhook_id, count(*) as made from made group by webhook_id
  ), locked as (
    select webhook_id from webhook_counter where webhook_id in (select webhook_id from share)
     order by webhook_id for update
  ), counted as (
    update webhook_counter c set total = c.total + s.made
      from share s join locked l using (webhook_id) where c.webhook_id = s.webhook_id
  )
  select id from made`;

@Injectable()
export class IntakeRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @returns ids of the deliveries that are new */
  async insert(deliveries: readonly IntakeDelivery[]): Promise<Set<string>> {
    if (deliveries.length === 0) return new Set();
    const events = [...new Set(deliveries.map(({ event }) => event))];
    const numbers = new Map(events.map((event, n) => [event, n]));
    const rows = await this.worker.query<{ id: string }>(INSERT, [
      events.map((_, n) => n),
      events.map(({ eventId }) => eventId),
      events.map(({ eventType }) => eventType),
      events.map(({ createdAt }) => createdAt.toISOString()),
      events.map(({ body }) => body),
      deliveries.map(({ id }) => id),
      deliveries.map(({ webhookId }) => webhookId),
      deliveries.map(({ event }) => numbers.get(event)),
      deliveries.map(({ maxAttempts }) => maxAttempts),
      deliveries.map(({ shard }) => shard),
      deliveries.map(({ owner }) => owner),
    ]);
    return new Set(rows.map(({ id }) => id));
  }
}
