import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - delivery_pending: first attempts that nobody holds: what a person has asked for, and what a process left. Hardly any
 *   in ordinary times; a storm of due retries does not stand before them.
 */
export class AddPendingIndex1793664000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create index delivery_pending on delivery (due_at) where lease_owner is null and status = 'pending'`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop index delivery_pending');
  }
}
