import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = [
  'webhook',
  'webhook_counter',
  'deleted_webhook',
  'webhook_recovery',
  'delivery',
  'attempt',
  'dead_letter',
  'request_shape',
];

/**
 * Allows webhooks of a partner as a whole: their rows have no organization, so that the policies show them to callers with
 * access to all organizations of the partner only. `event_org_id` is the organization of the event.
 */
export class AddPartnerWebhooks1795438000000 implements MigrationInterface {
  name = 'AddPartnerWebhooks1795438000000';

  async up(q: QueryRunner): Promise<void> {
    for (const table of TABLES) await q.query(`ALTER TABLE ${table} ALTER COLUMN org_id DROP NOT NULL`);
    await q.query('ALTER TABLE delivery ADD COLUMN event_org_id uuid');
    await q.query('ALTER TABLE dead_letter ADD COLUMN event_org_id uuid');
  }

  async down(q: QueryRunner): Promise<void> {
    for (const table of TABLES) {
      // The owner is bound by policies as well, and has none.
      await q.query(`ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`);
      await q.query(`DELETE FROM ${table} WHERE org_id IS NULL`);
      await q.query(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
      await q.query(`ALTER TABLE ${table} ALTER COLUMN org_id SET NOT NULL`);
    }
    await q.query('ALTER TABLE dead_letter DROP COLUMN event_org_id');
    await q.query('ALTER TABLE delivery DROP COLUMN event_org_id');
  }
}
