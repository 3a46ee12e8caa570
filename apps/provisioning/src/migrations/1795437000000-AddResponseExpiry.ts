import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When a stored response is erased although the record of its request stays; null for those that stay as long as it. */
export class AddResponseExpiry1795437000000 implements MigrationInterface {
  name = 'AddResponseExpiry1795437000000';

  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE idempotency_record ADD COLUMN response_expires_at timestamptz(3)');
    await q.query(`CREATE INDEX idempotency_record_response_idx ON idempotency_record (response_expires_at)
      WHERE response_expires_at IS NOT NULL`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE idempotency_record DROP COLUMN response_expires_at');
  }
}
