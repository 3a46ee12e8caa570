import { Injectable } from '@nestjs/common';
import type { TenantTransaction } from '@rmm/persistence';
import type { DeliveryKey } from '../sending/claims.repository.js';

/** Where in the history a recovery stands; times as PostgreSQL writes them, which is finer than a `Date`. */
export interface HistoryPlace {
  createdAt: string;
  id: string;
}

export const startOf = (since: Date): HistoryPlace => ({
  createdAt: since.toISOString(),
  id: '00000000-0000-0000-0000-000000000000',
});

export interface RecoverySpan {
  webhookId: string;
  until: Date;
  /** When the call began: what was sent again since then has had its turn. */
  startedAt: Date;
  maxAttempts: number;
}

export interface RepeatedChunk {
  /** The new deliveries. */
  keys: DeliveryKey[];
  /** Deliveries whose dead letter was taken up. */
  deadLetters: string[];
  /** Null when there is no more history. */
  next: HistoryPlace | null;
}

/**
 * The next failed deliveries in the order of their time, each event once, sent again by new deliveries that are due in
 * that order. Left out: events that a later delivery brought or is about to bring, and those whose body is gone.
 * Two indexes serve it, both of them small: failed deliveries, and deliveries that repeat another.
 */
const REPEAT_FAILED = `
  with candidate as materialized (
    select id, created_at, org_id, event_type, event_id
      from delivery
     where webhook_id = $1 and status = 'failed' and (created_at, id) > ($2, $3) and created_at < $4
     order by created_at, id limit $5
  ), event as materialized (
    select distinct on (c.event_id) c.id, c.created_at, c.event_type, c.event_id, b.partner_id, b.org_id, b.body
      from candidate c
      join event_body b on b.event_id = c.event_id and b.org_id = c.org_id and b.created_at = c.created_at
     where not exists (
             select from delivery r
              where r.webhook_id = $1 and r.event_id = c.event_id and r.repeat_of is not null
                and (r.status <> 'failed' or r.created_at >= $6))
     order by c.event_id, c.created_at, c.id
  ), wanted as materialized (
    select e.*, row_number() over (order by e.created_at, e.id) as turn,
           date_trunc('milliseconds', statement_timestamp()) as made_at
      from event e order by e.created_at, e.id limit $7
  ), made as (
    insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at,
                          repeat_of)
    select gen_random_uuid(), made_at, partner_id, org_id, $1, event_type, event_id, $8,
           made_at + turn * interval '1 microsecond', id
      from wanted
    returning id, created_at
  ), bodies as (
    insert into event_body (event_id, created_at, partner_id, org_id, body)
    select event_id, made_at, partner_id, org_id, body from wanted
    on conflict do nothing
  ), letters as (
    delete from dead_letter
     where webhook_id = $1 and event_id in (select event_id from wanted)
    returning delivery_id
  ), counted as (
    update webhook_counter set total = total + (select count(*) from made)
     where webhook_id = $1 and exists (select from made)
  )
  select (select json_agg(json_build_array(id, created_at)) from made) as made,
         (select array_agg(delivery_id) from letters) as letters,
         (select count(*)::int from candidate) as looked_at,
         last.created_at::text as last_at, last.id as last_id
    from (select) as always
    left join (select created_at, id from candidate order by created_at desc, id desc limit 1) as last on true`;

const HASTEN = `
  with picked as (
    select id, created_at from delivery
     where webhook_id = $1 and status = 'retrying' and lease_owner is null and due_at > now()
       and created_at >= $2 and created_at < $3
     order by created_at, id limit $4
       for update skip locked
  )
  update delivery d set due_at = now() from picked p
   where d.id = p.id and d.created_at = p.created_at
  returning d.id, d.created_at as "createdAt"`;

interface RepeatedRow {
  made: [id: string, createdAt: string][] | null;
  letters: string[] | null;
  looked_at: number;
  last_at: string | null;
  last_id: string | null;
}

/** The set-based half of a recovery; each call is one statement over a bounded number of deliveries. */
@Injectable()
export class RecoveryRepository {
  /**
   * @param room  new deliveries at most
   * @param width  failed deliveries to look at
   */
  async repeatFailed(
    tx: TenantTransaction,
    { webhookId, until, startedAt, maxAttempts }: RecoverySpan,
    after: HistoryPlace,
    { room, width }: { room: number; width: number },
  ): Promise<RepeatedChunk> {
    const [row] = await tx.query<RepeatedRow>(REPEAT_FAILED, [
      webhookId,
      after.createdAt,
      after.id,
      until.toISOString(),
      width,
      startedAt.toISOString(),
      room,
      maxAttempts,
    ]);
    if (!row) throw new Error('A left join of one row has returned none');
    const { made, letters, looked_at, last_at, last_id } = row;
    return {
      keys: (made ?? []).map(([id, createdAt]) => ({ id, createdAt: new Date(createdAt) })),
      deadLetters: letters ?? [],
      next: looked_at === width && last_at !== null && last_id !== null ? { createdAt: last_at, id: last_id } : null,
    };
  }

  /** Makes retries due that wait for their time; what is under way is left alone. */
  hasten(
    tx: TenantTransaction,
    { webhookId, since, until, limit }: { webhookId: string; since: Date; until: Date; limit: number },
  ): Promise<DeliveryKey[]> {
    return tx.query<DeliveryKey>(HASTEN, [webhookId, since.toISOString(), until.toISOString(), limit]);
  }
}
