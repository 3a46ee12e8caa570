import type { MigrationInterface, QueryRunner } from 'typeorm';

const INDEXES = ['import_run_row', 'import_change'].map(
  (table) => [`${table}_partner_idx`, `${table} (partner_id)`] as const,
);

/** Drops the indexes by partner of the rows and changes of imports, which no statement reads and each row had to update. */
export class DropUnreadImportIndexes1795950000000 implements MigrationInterface {
  name = 'DropUnreadImportIndexes1795950000000';
  transaction = false; // DROP INDEX CONCURRENTLY runs outside of a transaction

  async up(q: QueryRunner): Promise<void> {
    for (const [index] of INDEXES) await q.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const [index, on] of INDEXES) await q.query(`CREATE INDEX IF NOT EXISTS ${index} ON ${on}`);
  }
}
