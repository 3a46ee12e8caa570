import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The time of the mail about a sync that disabled itself; null while one is to be sent. */
export class AddPsaSyncMail1795421200000 implements MigrationInterface {
  name = 'AddPsaSyncMail1795421200000';

  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE psa_sync ADD COLUMN mailed_at timestamptz(3)');
    await q.query('UPDATE psa_sync SET mailed_at = now() WHERE disabled_reason IS NOT NULL'); // long known
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE psa_sync DROP COLUMN mailed_at');
  }
}
