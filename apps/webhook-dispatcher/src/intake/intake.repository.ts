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
  partnerId: string;
  orgId: string;
  /** Attempts at most. */
  maxAttempts: number;
  shard: number;
  /** Who holds it: this process, its organization, or unauthorized. */
  owner: string | null;
  event: IntakeEvent;
}

/**
 * All deliveries of a set in one statement, held from the start by whom each says.
 * - The webhook is looked at once more: paused or deleted meanwhile, it gets none.
 * - An id that is there is left alone; an event republished with another time is met by the look at the last day.
 * - Bodies are stored once per event, counters raised once per webhook, in the order of their ids.
 */
const INSERT = `
  with wanted as materialized (
    select d.id, d.max_attempts, d.shard, d.owner, w.id as webhook_id, w.partner_id, w.org_id, d.event_id, d.event_type,
           d.created_at
      from unnest($1::uuid[], $2::uuid[], $3::int[], $4::smallint[], $5::uuid[], $6::text[], $7::text[],
                  $8::timestamptz[])
        as d(id, webhook_id, max_attempts, shard, owner, event_id, event_type, created_at)
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
    select * from unnest($9::text[], $10::timestamptz[], $11::uuid[], $12::uuid[], $13::text[])
     where exists (select from wanted)
    on conflict do nothing
  ), share as (
    select webhook_id, count(*) as made from made group by webhook_id
  ), locked as (
    select s.* from share s join webhook_counter c using (webhook_id) order by webhook_id for update of c
  ), counted as (
    update webhook_counter c set total = c.total + l.made from locked l where c.webhook_id = l.webhook_id
  )
  select id from made`;

@Injectable()
export class IntakeRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @returns ids of the deliveries that are new */
  async insert(deliveries: readonly IntakeDelivery[]): Promise<Set<string>> {
    if (deliveries.length === 0) return new Set();
    const column = <T>(value: (delivery: IntakeDelivery) => T) => deliveries.map(value);
    // Whose the event is, each of its deliveries says.
    const events = [...new Map(deliveries.map((delivery) => [delivery.event, delivery])).values()];
    const ofEvents = <T>(value: (delivery: IntakeDelivery) => T) => events.map(value);
    const rows = await this.worker.query<{ id: string }>(INSERT, [
      column(({ id }) => id),
      column(({ webhookId }) => webhookId),
      column(({ maxAttempts }) => maxAttempts),
      column(({ shard }) => shard),
      column(({ owner }) => owner),
      column(({ event }) => event.eventId),
      column(({ event }) => event.eventType),
      column(({ event }) => event.createdAt.toISOString()),
      ofEvents(({ event }) => event.eventId),
      ofEvents(({ event }) => event.createdAt.toISOString()),
      ofEvents(({ partnerId }) => partnerId),
      ofEvents(({ orgId }) => orgId),
      ofEvents(({ event }) => event.body),
    ]);
    return new Set(rows.map(({ id }) => id));
  }
}
