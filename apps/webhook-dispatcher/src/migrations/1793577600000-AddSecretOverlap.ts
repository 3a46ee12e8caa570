import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - previous_secret_sealed, secret_overlap_until: after a rotation the old secret signs beside the new one until then.
 *   Sealed as `secret_sealed` is, so that rotating moves the text and opens nothing.
 * - standard_webhooks: whether deliveries also carry the headers of Standard Webhooks.
 */
export class AddSecretOverlap1793577600000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      alter table webhook
        add column previous_secret_sealed text,
        add column secret_overlap_until   timestamptz,
        add column standard_webhooks      boolean not null default false,
        add constraint webhook_overlap_is_whole
          check ((previous_secret_sealed is null) = (secret_overlap_until is null))`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`
      alter table webhook
        drop constraint webhook_overlap_is_whole,
        drop column previous_secret_sealed,
        drop column secret_overlap_until,
        drop column standard_webhooks`);
  }
}
