import { loginRoles, quoteIdentifier, tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const SHARDS = 64;

/**
 * - delivery.shard: of the origin it goes to, as far as the one who wrote it knew. Rows of before, and those a caller
 *   makes, stand in shard 0; whoever claims one that belongs elsewhere hands it on.
 * - delivery_shard: who alone may send what goes to the origins of a shard, one row each. `free_at`: a process that
 *   stopped with attempts in flight leaves them time to be cut.
 * - delivery_backlog: deliveries that wait in the table for their organization's turn (`lease_owner` is the
 *   organization). None in ordinary times; a delivery that is held or has ended is never in it.
 * - webhook_counter.failing_since: the first failed attempt since the last one that succeeded; `mail_due_for`: when it
 *   was failed, as long as nobody has been told.
 */
export class AddShards1793577602000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('alter table delivery add column shard smallint not null default 0');
    await q.query('create index delivery_backlog on delivery (org_id, due_at) where lease_owner = org_id');
    await heldIndex(q, 'lease_owner is not null and lease_owner <> org_id');
    await q.query('alter table dispatcher_instance add column is_leaving boolean not null default false');
    await q.query(`
      create table delivery_shard (
        shard   smallint primary key check (shard between 0 and ${SHARDS - 1}),
        owner   uuid,
        free_at timestamptz not null default '-infinity'
      )`);
    await q.query(`insert into delivery_shard (shard) select generate_series(0, ${SHARDS - 1})`);
    await tenantTable(q, { table: 'delivery_shard', ownership: 'worker-only', worker: ['select', 'update'] });
    await q.query(
      'alter table webhook_counter add column failing_since timestamptz, add column mail_due_for timestamptz',
    );
    await q.query(`
      create index webhook_counter_failing on webhook_counter (failing_since) where failing_since is not null`);
    await q.query(`
      create index webhook_counter_mail on webhook_counter (mail_due_for) where mail_due_for is not null`);
    const worker = await workerLogin(q);
    // The worker may fail a webhook; what a webhook is stays with its tenants.
    await q.query(`grant update (status, updated_at) on webhook to ${worker}`);
    await q.query(`create policy worker_update on webhook for update to ${worker} using (true) with check (true)`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop policy worker_update on webhook');
    await q.query(`revoke update (status, updated_at) on webhook from ${await workerLogin(q)}`);
    await q.query('drop index webhook_counter_failing, webhook_counter_mail');
    await q.query('alter table webhook_counter drop column failing_since, drop column mail_due_for');
    await q.query('drop table delivery_shard');
    await q.query('alter table dispatcher_instance drop column is_leaving');
    await q.query('drop index delivery_backlog');
    await heldIndex(q, 'lease_owner is not null');
    await q.query('alter table delivery drop column shard');
  }
}

/** Over what processes hold: looked through for those that died. */
async function heldIndex(q: QueryRunner, condition: string): Promise<void> {
  await q.query('drop index delivery_leased');
  await q.query(`create index delivery_leased on delivery (lease_owner) where ${condition}`);
}

async function workerLogin(q: QueryRunner): Promise<string> {
  const { worker } = await loginRoles(q);
  return quoteIdentifier(worker);
}
