// Stores the history of `bench webhooks` and `bench webhooks-history`: deliveries that ended long ago.
import { dropIndexes } from './list-data.mjs';

/** Half of them are from today, the rest from the days before that retention keeps. */
const STORED = `
  insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, status, attempt, max_attempts,
                        due_at, response_status, response_body, response_time_ms, delivered_at)
  select gen_random_uuid(), t.at, w.partner_id, w.org_id, w.id, $2, gen_random_uuid()::text, 'delivered', 1, 6,
         t.at, 200, 'ok', 3, t.at
    from generate_series(1, $1::int) n
    join (select *, row_number() over (order by id) as position, count(*) over () as all_of_them from webhook) w
      on w.position = 1 + n % w.all_of_them
    cross join lateral (select case when n % 2 = 0 then $3::timestamptz - n * interval '5 milliseconds'
      else $3::timestamptz - (1 + (n / 2) % $4::int) * interval '1 day' end as at) t`;
/** Spread evenly over the days. One of five has failed and is a dead letter, the newest 1,000 wait for a retry in a day. */
const STORED_OF_WEBHOOK = `
  with stored as (
    insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, status, attempt, max_attempts,
                          due_at, response_status, response_body, response_time_ms, delivered_at)
    select gen_random_uuid(), at, w.partner_id, w.org_id, w.id, case when n % 997 = 0 then $6 else $5 end,
           gen_random_uuid()::text, s.status, 1, 6, case s.status when 'retrying' then now() + interval '1 day' else at end,
           case s.status when 'delivered' then 200 else 500 end, 'ok', 3, case s.status when 'delivered' then at end
      from generate_series($2::int, $3::int) n
      join webhook w on w.id = $1
      cross join lateral (select now() - n * (interval '20 days' / $4::int) as at) t
      cross join lateral (select case when n <= 1000 then 'retrying' when n % 5 = 0 then 'failed' else 'delivered' end as status) s
    returning *
  )
  insert into dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts,
                           response_status, error_message)
  select id, created_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, 6, 500, 'HTTP 500: oops'
    from stored where status = 'failed'`;
const COUNTED = `
  update webhook_counter c set total = s.total, delivered = s.delivered, failed = s.failed, retrying = s.retrying
    from (select count(*) as total, count(*) filter (where status = 'delivered') as delivered,
                 count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'retrying') as retrying
            from delivery where webhook_id = $1) s
   where c.webhook_id = $1`;
const CHUNK = 100_000;
const DAYS = 20;

/** @param admin  a connection of the superuser with the schema as its search path */
export async function storeHistory(admin, count, eventType) {
  await createPartitions(admin);
  for (let stored = 0; stored < count; stored += CHUNK) {
    const chunk = Math.min(CHUNK, count - stored);
    await admin.query(STORED, [chunk, eventType, new Date(Date.now() - 60_000).toISOString(), DAYS]);
  }
  await admin.query('vacuum (analyze) delivery');
  await admin.query('checkpoint');
}

/** Stores the history of one webhook. Indexes are created afterwards. @param types  the `usual` and a `rare` event type */
export async function storeHistoryOf(admin, webhookId, count, { usual, rare }) {
  await createPartitions(admin);
  const createIndexes = await dropIndexes(admin, ['delivery', 'dead_letter']);
  for (let first = 1; first <= count; first += CHUNK) {
    const last = Math.min(first + CHUNK - 1, count);
    await admin.query(STORED_OF_WEBHOOK, [webhookId, first, last, count, usual, rare]);
  }
  for (const statement of createIndexes) await admin.query(statement);
  await admin.query(COUNTED, [webhookId]);
  await admin.query('vacuum (analyze) delivery, dead_letter');
  await admin.query('checkpoint');
}

async function createPartitions(admin) {
  for (let day = DAYS; day > 0; day--) {
    await admin.query(`select rmm_maintain_partitions_at(now() - $1 * interval '1 day')`, [day]);
  }
}
