import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds an index for the users of SCIM to whom older settings of roles apply. May run again after a failure. */
export class IndexScimUserSettings1796025600000 implements MigrationInterface {
  name = 'IndexScimUserSettings1796025600000';
  transaction = false; // CREATE INDEX CONCURRENTLY runs outside of a transaction

  async up(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX IF EXISTS scim_user_settings_idx'); // left invalid by a run that failed
    await q.query('CREATE INDEX CONCURRENTLY scim_user_settings_idx ON scim_user (provider_id, settings_version)');
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX scim_user_settings_idx');
  }
}
