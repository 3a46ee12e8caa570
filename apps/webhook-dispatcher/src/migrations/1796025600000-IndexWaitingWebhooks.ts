import type { MigrationInterface, QueryRunner } from 'typeorm';

const INDEXES = {
  organization_directory_resting: "organization_directory (org_id) WHERE deleted OR status NOT IN ('active', 'trial')",
  partner_directory_resting: "partner_directory (partner_id) WHERE status <> 'active'",
  webhook_counter_paused: 'webhook_counter (paused_until) WHERE paused_until IS NOT NULL',
};

/** Adds indexes for what every replica looks for every few seconds: tenants that are not active, and paused webhooks. May run again after a failure. */
export class IndexWaitingWebhooks1796025600000 implements MigrationInterface {
  name = 'IndexWaitingWebhooks1796025600000';
  transaction = false; // CREATE INDEX CONCURRENTLY runs outside of a transaction

  async up(q: QueryRunner): Promise<void> {
    for (const [name, definition] of Object.entries(INDEXES)) {
      await q.query(`DROP INDEX IF EXISTS ${name}`); // left invalid by a run that failed
      await q.query(`CREATE INDEX CONCURRENTLY ${name} ON ${definition}`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of Object.keys(INDEXES)) await q.query(`DROP INDEX ${name}`);
  }
}
