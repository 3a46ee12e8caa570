import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

export interface IntakeEvent {
  eventId: string;
  eventType: string;
  /** The creation time of its deliveries. */
  createdAt: Date;
  body: string;
}

export interface IntakeDelivery {
  id: string;
  webhookId: string;
  partnerId: string;
  orgId: string;
  /** The number of attempts it may take. */
  maxAttempts: number;
  shard: number;
  /** This instance; the organization when it joins the backlog; null when any replica may claim it. */
  owner: string | null;
  event: IntakeEvent;
}

/**
 * Inserts the deliveries of a set in one statement, already leased. Positional parameters, since it is a hot statement.
 * - Webhooks that were paused or deleted since they matched are skipped.
 * - Deliveries that exist are skipped, also those of the last day that an event with another time created.
 * - Bodies are stored once per event, counters updated once per webhook, in the order of ids.
 */
const INSERT = `
  WITH wanted AS MATERIALIZED (
    SELECT d.id, d.max_attempts, d.shard, d.owner, w.id AS webhook_id, w.partner_id, w.org_id, d.event_id, d.event_type,
           d.created_at
      FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::smallint[], $5::uuid[], $6::text[], $7::text[],
                  $8::timestamptz[])
        AS d(id, webhook_id, max_attempts, shard, owner, event_id, event_type, created_at)
      JOIN webhook w ON w.id = d.webhook_id AND w.status = 'active'
     WHERE NOT EXISTS (SELECT FROM delivery known WHERE known.id = d.id AND known.created_at > now() - INTERVAL '1 day')
  ), inserted AS (
    INSERT INTO delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, shard,
                          lease_owner)
    SELECT id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, shard, owner FROM wanted
    ON CONFLICT DO NOTHING
    RETURNING id, webhook_id
  ), bodies AS (
    INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
    SELECT * FROM unnest($9::text[], $10::timestamptz[], $11::uuid[], $12::uuid[], $13::text[])
     WHERE EXISTS (SELECT FROM wanted)
    ON CONFLICT DO NOTHING
  ), share AS (
    SELECT webhook_id, count(*) AS inserted FROM inserted GROUP BY webhook_id
  ), locked_counter AS (
    SELECT s.* FROM share s JOIN webhook_counter c USING (webhook_id) ORDER BY webhook_id FOR UPDATE OF c
  ), counted AS (
    UPDATE webhook_counter c SET total = c.total + l.inserted FROM locked_counter l WHERE c.webhook_id = l.webhook_id
  )
  SELECT id FROM inserted`;

@Injectable()
export class IntakeRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @returns ids of the inserted deliveries */
  async insert(deliveries: readonly IntakeDelivery[]): Promise<Set<string>> {
    if (deliveries.length === 0) return new Set();
    const column = <T>(value: (delivery: IntakeDelivery) => T) => deliveries.map(value);
    // Each delivery has the tenant of its event.
    const events = [...new Map(deliveries.map((delivery) => [delivery.event, delivery])).values()];
    const eventColumn = <T>(value: (delivery: IntakeDelivery) => T) => events.map(value);
    const rows = await this.worker.query<{ id: string }>(INSERT, [
      column(({ id }) => id),
      column(({ webhookId }) => webhookId),
      column(({ maxAttempts }) => maxAttempts),
      column(({ shard }) => shard),
      column(({ owner }) => owner),
      column(({ event }) => event.eventId),
      column(({ event }) => event.eventType),
      column(({ event }) => event.createdAt.toISOString()),
      eventColumn(({ event }) => event.eventId),
      eventColumn(({ event }) => event.createdAt.toISOString()),
      eventColumn(({ partnerId }) => partnerId),
      eventColumn(({ orgId }) => orgId),
      eventColumn(({ event }) => event.body),
    ]);
    return new Set(rows.map(({ id }) => id));
  }
}
