import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds until when the receiver of a webhook asked for no attempts, so that the next owner of its partition makes none either. */
export class AddWebhookPause1795438120000 implements MigrationInterface {
  name = 'AddWebhookPause1795438120000';

  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE webhook_counter ADD COLUMN paused_until timestamptz');
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE webhook_counter DROP COLUMN paused_until');
  }
}
