import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds an index for the devices that are no longer used, which are deleted. May run again after a failure. */
export class IndexKnownDevices1796025660000 implements MigrationInterface {
  name = 'IndexKnownDevices1796025660000';
  transaction = false; // CREATE INDEX CONCURRENTLY runs outside of a transaction

  async up(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX IF EXISTS known_device_seen_idx'); // left invalid by a run that failed
    await q.query('CREATE INDEX CONCURRENTLY known_device_seen_idx ON known_device (last_seen_at)');
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX known_device_seen_idx');
  }
}
