import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `text_pattern_ops`, so that `api_key.*` is a range of the index whatever the collation. */
const INDEXES = [
  `create index audit_entry_action_idx on audit_entry (partner_id, action text_pattern_ops, timestamp desc, id desc)`,
  `create index audit_entry_actor_idx on audit_entry (partner_id, actor_id, timestamp desc, id desc)`,
  `create index audit_entry_resource_idx on audit_entry (partner_id, resource_id, timestamp desc, id desc)`,
] as const;

/** Without these a rare action, actor or resource is looked for in all rows of its partner. */
export class FindAuditRows1767571200000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const index of INDEXES) await q.query(index);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop index audit_entry_action_idx, audit_entry_actor_idx, audit_entry_resource_idx');
  }
}
