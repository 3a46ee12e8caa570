import { loginRoles, noLongerPartitioned, partitionedByTime, quoteIdentifier, tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Changed at start by `set_delivery_retention` to what the configuration says. */
const KEEP_DAYS = 30;
const PARTITIONED = ['delivery', 'event_body', 'dead_letter'] as const;

/**
 * - delivery: the history and the queue of record. A row that nobody holds (`lease_owner` null) and that has not ended
 *   may be claimed once `due_at` has passed; `lease_owner` names the process that holds it.
 * - event_body: the exact text that is signed and sent, once per event whatever the number of webhooks. It shares its
 *   time with its deliveries, so that the two go together when they are old.
 * - dead_letter: deliveries whose retries are used up.
 * - dispatcher_instance: the processes that hold deliveries; one that stops renewing has lost them all.
 */
export class AddDeliveries1793491200002 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await deliveryTable(q);
    await bodyTable(q);
    await deadLetterTable(q);
    await q.query(`
      create table dispatcher_instance (
        id          uuid primary key,
        started_at  timestamptz not null default now(),
        lease_until timestamptz not null
      )`);
    const worker = ['select', 'insert', 'update', 'delete'] as const;
    await tenantTable(q, { table: 'dispatcher_instance', ownership: 'worker-only', worker });
    for (const table of PARTITIONED) {
      const column = table === 'dead_letter' ? 'failed_at' : 'created_at';
      await partitionedByTime(q, { table, column, everyDays: 1, keepDays: KEEP_DAYS, aheadDays: 3 });
    }
    await retentionFunction(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop function set_delivery_retention(integer)');
    for (const table of PARTITIONED) await noLongerPartitioned(q, table);
    await q.query('drop table dispatcher_instance, dead_letter, event_body, delivery');
  }
}

async function deliveryTable(q: QueryRunner): Promise<void> {
  await q.query(`
    create table delivery (
      id               uuid not null,
      created_at       timestamptz not null,
      partner_id       uuid not null,
      org_id           uuid not null,
      webhook_id       uuid not null,
      event_type       text not null,
      event_id         text not null,
      status           text not null default 'pending' check (status in ('pending', 'retrying', 'delivered', 'failed')),
      attempt          integer not null default 0,
      max_attempts     integer not null,
      due_at           timestamptz not null default now(),
      lease_owner      uuid,
      response_status  integer,
      response_body    text,
      response_time_ms integer,
      error_message    text,
      delivered_at     timestamptz,
      primary key (id, created_at)
    ) partition by range (created_at)`);
  await q.query('create index delivery_by_webhook on delivery (webhook_id, created_at desc, id desc)');
  // A row stands in one of these while it waits or is held, and in neither once it has ended: both stay small.
  await q.query(`
    create index delivery_due on delivery (due_at)
      where lease_owner is null and status in ('pending', 'retrying')`);
  await q.query('create index delivery_leased on delivery (lease_owner) where lease_owner is not null');
  await tenantTable(q, {
    table: 'delivery',
    ownership: 'organization',
    service: ['select', 'insert', 'delete'],
    worker: ['select', 'insert', 'update', 'delete'],
  });
}

async function bodyTable(q: QueryRunner): Promise<void> {
  await q.query(`
    create table event_body (
      event_id   text not null,
      created_at timestamptz not null,
      partner_id uuid not null,
      org_id     uuid not null,
      body       text not null,
      primary key (event_id, org_id, created_at)
    ) partition by range (created_at)`);
  await tenantTable(q, {
    table: 'event_body',
    ownership: 'organization',
    service: ['select', 'insert'],
    worker: ['select', 'insert'],
  });
}

async function deadLetterTable(q: QueryRunner): Promise<void> {
  await q.query(`
    create table dead_letter (
      delivery_id     uuid not null,
      failed_at       timestamptz not null,
      created_at      timestamptz not null,
      partner_id      uuid not null,
      org_id          uuid not null,
      webhook_id      uuid not null,
      event_type      text not null,
      event_id        text not null,
      attempts        integer not null,
      response_status integer,
      error_message   text,
      primary key (delivery_id, failed_at)
    ) partition by range (failed_at)`);
  await q.query('create index dead_letter_by_webhook on dead_letter (webhook_id, failed_at desc)');
  await q.query('create index dead_letter_by_org on dead_letter (org_id, failed_at desc)');
  await tenantTable(q, {
    table: 'dead_letter',
    ownership: 'organization',
    service: ['select', 'delete'],
    worker: ['select', 'insert'],
  });
}

/** Retention is configuration, but only the owner may change the rules of partitions: this much the worker may ask for. */
async function retentionFunction(q: QueryRunner): Promise<void> {
  const { worker } = await loginRoles(q);
  const schema = quoteIdentifier(await q.getCurrentSchema().then(String));
  await q.query(`
    create function set_delivery_retention(days integer) returns void
    language sql security definer
    set search_path = ${schema}, pg_temp
    as $body$
      update rmm_partition_rule set keep_days = days
       where table_name in ('delivery', 'event_body', 'dead_letter') and days between 1 and 365
    $body$`);
  await q.query('revoke all on function set_delivery_retention(integer) from public');
  await q.query(`grant execute on function set_delivery_retention(integer) to ${quoteIdentifier(worker)}`);
  // What `workerFunction` of persistence writes on functions without arguments.
  await q.query(`comment on function set_delivery_retention(integer) is 'rmm:worker-function'`);
}
