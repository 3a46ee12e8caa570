import { loginRoles, noLongerPartitioned, partitionedByTime, quoteIdentifier, tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Changed at start by `set_delivery_retention` to what the configuration says. */
const KEEP_DAYS = 30;
const BEFORE = ['delivery', 'event_body', 'dead_letter'] as const;

/**
 * - attempt: attempts that were not the last. The last one stands in its delivery, so that a delivery that succeeds at
 *   once costs no row more. In the partition of its delivery's day: the two go together when they are old.
 * - request_shape: which headers a webhook's requests carry, written when they are first sent. What differs from
 *   attempt to attempt is rebuilt when it is shown.
 * - delivery.repeat_of: the delivery a manual retry or a recovery sends again. With its index and the one over failed
 *   deliveries a recovery reads what it recovers and not the history; neither is touched by a delivery that succeeds.
 */
export class AddAttempts1793577601000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      alter table delivery
        add column started_at timestamptz,
        add column response_headers text,
        add column request_shape uuid,
        add column repeat_of uuid`);
    await q.query(`
      create index delivery_failed on delivery (webhook_id, created_at, id) where status = 'failed'`);
    await q.query(`
      create index delivery_repeats on delivery (webhook_id, event_id) where repeat_of is not null`);
    // For lists without a webhook: of a partner, and of the platform.
    await q.query('create index dead_letter_by_partner on dead_letter (partner_id, failed_at desc, delivery_id desc)');
    await q.query('create index dead_letter_by_time on dead_letter (failed_at desc, delivery_id desc)');
    // When a retry is due, and nothing else, a caller may move.
    const { service } = await loginRoles(q);
    await q.query(`grant update (due_at) on delivery to ${quoteIdentifier(service)}`);
    await attemptTable(q);
    await shapeTable(q);
    await retentionOf(q, [...BEFORE, 'attempt']);
  }

  async down(q: QueryRunner): Promise<void> {
    const { service } = await loginRoles(q);
    await retentionOf(q, BEFORE);
    await noLongerPartitioned(q, 'attempt');
    await q.query('drop table attempt, request_shape');
    await q.query(`revoke update (due_at) on delivery from ${quoteIdentifier(service)}`);
    await q.query('drop index delivery_failed, delivery_repeats, dead_letter_by_partner, dead_letter_by_time');
    await q.query(`
      alter table delivery
        drop column started_at, drop column response_headers, drop column request_shape, drop column repeat_of`);
  }
}

async function attemptTable(q: QueryRunner): Promise<void> {
  await q.query(`
    create table attempt (
      delivery_id      uuid not null,
      created_at       timestamptz not null,
      attempt          integer not null,
      partner_id       uuid not null,
      org_id           uuid not null,
      started_at       timestamptz not null,
      duration_ms      integer,
      request_shape    uuid,
      response_status  integer,
      response_headers text,
      response_body    text,
      error_message    text,
      primary key (delivery_id, created_at, attempt)
    ) partition by range (created_at)`);
  await tenantTable(q, {
    table: 'attempt',
    ownership: 'organization',
    service: ['select', 'delete'],
    worker: ['select', 'insert'],
  });
  await partitionedByTime(q, {
    table: 'attempt',
    column: 'created_at',
    everyDays: 1,
    keepDays: KEEP_DAYS,
    aheadDays: 3,
  });
}

async function shapeTable(q: QueryRunner): Promise<void> {
  await q.query(`
    create table request_shape (
      id             uuid primary key,
      webhook_id     uuid not null,
      partner_id     uuid not null,
      org_id         uuid not null,
      names          text[] not null,
      headers        jsonb not null,
      first_used_at  timestamptz not null default now()
    )`);
  await q.query('create index request_shape_by_webhook on request_shape (webhook_id)');
  await tenantTable(q, {
    table: 'request_shape',
    ownership: 'organization',
    service: ['select', 'delete'],
    worker: ['select', 'insert'],
  });
}

/** The function keeps its owner, its grants and its comment. */
async function retentionOf(q: QueryRunner, tables: readonly string[]): Promise<void> {
  const schema = quoteIdentifier(await q.getCurrentSchema().then(String));
  await q.query(`
    create or replace function set_delivery_retention(days integer) returns void
    language sql security definer
    set search_path = ${schema}, pg_temp
    as $body$
      update rmm_partition_rule set keep_days = days
       where table_name in (${tables.map((table) => `'${table}'`).join(', ')}) and days between 1 and 365
    $body$`);
}
