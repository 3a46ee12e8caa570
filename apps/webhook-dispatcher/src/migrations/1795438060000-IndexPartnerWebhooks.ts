import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds an index for the webhooks of a partner, and one with which the deliveries of an organization's events to them are
 * erased; no other delivery is in it. May run again after a failure.
 */
export class IndexPartnerWebhooks1795438060000 implements MigrationInterface {
  name = 'IndexPartnerWebhooks1795438060000';
  transaction = false; // CREATE INDEX CONCURRENTLY runs outside of a transaction

  async up(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX IF EXISTS webhook_by_partner'); // left invalid by a run that failed
    await q.query(`
      CREATE INDEX CONCURRENTLY webhook_by_partner ON webhook (partner_id, created_at DESC, id DESC)
      WHERE org_id IS NULL`);
    // Invalid until all parts are attached.
    await q.query(`
      CREATE INDEX IF NOT EXISTS delivery_by_event_org ON ONLY delivery (event_org_id) WHERE event_org_id IS NOT NULL`);
    const partitions = (await q.query(`
      SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'delivery'::regclass
        AND NOT EXISTS (SELECT FROM pg_inherits a JOIN pg_index x ON x.indexrelid = a.inhrelid
                        WHERE a.inhparent = 'delivery_by_event_org'::regclass AND x.indrelid = c.oid)`)) as {
      name: string;
    }[];
    for (const { name } of partitions) {
      await q.query(`DROP INDEX IF EXISTS ${name}_by_event_org`);
      await q.query(`
        CREATE INDEX CONCURRENTLY ${name}_by_event_org ON ${name} (event_org_id) WHERE event_org_id IS NOT NULL`);
      await q.query(`ALTER INDEX delivery_by_event_org ATTACH PARTITION ${name}_by_event_org`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX delivery_by_event_org');
    await q.query('DROP INDEX webhook_by_partner');
  }
}
