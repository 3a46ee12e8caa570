// Stores the history of `bench webhooks`: deliveries that ended long ago.

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
const CHUNK = 100_000;
const DAYS = 20;

/** @param admin  a connection of the superuser with the schema as its search path */
export async function storeHistory(admin, count, eventType) {
  for (let day = DAYS; day > 0; day--) {
    await admin.query(`select rmm_maintain_partitions_at(now() - $1 * interval '1 day')`, [day]);
  }
  for (let stored = 0; stored < count; stored += CHUNK) {
    const chunk = Math.min(CHUNK, count - stored);
    await admin.query(STORED, [chunk, eventType, new Date(Date.now() - 60_000).toISOString(), DAYS]);
  }
  await admin.query('vacuum (analyze) delivery');
  await admin.query('checkpoint');
}
