import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the transaction that deleted a webhook, with which replicas load deletions as they load changes. */
export class AddDeletedWebhookChange1795436400000 implements MigrationInterface {
  name = 'AddDeletedWebhookChange1795436400000';

  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE deleted_webhook ADD COLUMN changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id()');
    await q.query('CREATE INDEX deleted_webhook_by_change ON deleted_webhook (changed_xid)');
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE deleted_webhook DROP COLUMN changed_xid');
  }
}
