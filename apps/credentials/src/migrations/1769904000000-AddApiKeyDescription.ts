import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddApiKeyDescription1769904000000 implements MigrationInterface {
  name = 'AddApiKeyDescription1769904000000';

  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE api_key ADD COLUMN description text CHECK (char_length(description) <= 1000)');
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE api_key DROP COLUMN description');
  }
}
