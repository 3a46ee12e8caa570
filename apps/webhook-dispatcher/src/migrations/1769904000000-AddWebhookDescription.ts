import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddWebhookDescription1769904000000 implements MigrationInterface {
  name = 'AddWebhookDescription1769904000000';

  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE webhook ADD COLUMN description text CHECK (char_length(description) <= 1000)');
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE webhook DROP COLUMN description');
  }
}
