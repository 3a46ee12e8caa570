import { tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - webhook: the subscriptions. URL, secret and header values are sealed. `changed_xid` is the transaction that last
 *   wrote the row: what lets a process load "everything it has not seen" and miss nothing.
 * - webhook_counter: what has become of a webhook's deliveries, counted as it happens, so that no answer scans history.
 *   A table of its own, since the sender writes it all the time and the webhook itself hardly ever changes.
 */
export class AddWebhooks1793491200001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table webhook (
        id            uuid primary key default gen_random_uuid(),
        partner_id    uuid not null,
        org_id        uuid not null,
        name          text not null check (char_length(name) between 1 and 255),
        url_sealed    text not null,
        secret_sealed text,
        headers       jsonb not null default '[]' check (jsonb_typeof(headers) = 'array'),
        events        text[] not null check (cardinality(events) between 1 and 50),
        status        text not null default 'active' check (status in ('active', 'disabled', 'error')),
        retry_policy  jsonb,
        created_by    uuid,
        created_at    timestamptz not null default now(),
        updated_at    timestamptz not null default now(),
        changed_xid   xid8 not null default pg_current_xact_id()
      )`);
    await q.query('create index webhook_by_org on webhook (org_id, created_at desc, id desc)');
    await q.query('create index webhook_by_change on webhook (changed_xid)');
    await q.query(`
      create function webhook_changed() returns trigger language plpgsql as $body$
      begin
        new.changed_xid := pg_current_xact_id();
        return new;
      end
      $body$`);
    await q.query(`
      create trigger webhook_changed before insert or update on webhook
        for each row execute function webhook_changed()`);
    await q.query(`
      create table webhook_counter (
        webhook_id       uuid primary key,
        partner_id       uuid not null,
        org_id           uuid not null,
        total            bigint not null default 0,
        delivered        bigint not null default 0,
        failed           bigint not null default 0,
        retrying         bigint not null default 0,
        last_delivery_at timestamptz,
        last_success_at  timestamptz
      ) with (fillfactor = 50)`);
    await tenantTable(q, {
      table: 'webhook',
      ownership: 'organization',
      service: ['select', 'insert', 'update', 'delete'],
      worker: ['select'],
    });
    await tenantTable(q, {
      table: 'webhook_counter',
      ownership: 'organization',
      service: ['select', 'insert', 'update', 'delete'],
      worker: ['select', 'update'],
    });
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop table webhook_counter, webhook');
    await q.query('drop function webhook_changed()');
  }
}
