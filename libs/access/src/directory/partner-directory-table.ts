import type { QueryRunner } from 'typeorm';
import { tenantTable } from '@rmm/persistence/testing';

/**
 * Creates `partner_directory` in a migration of a service that looks up partners. Only the worker login uses it: caps and
 * status decide about callers. A row starts with the strictest caps.
 */
export async function partnerDirectoryTable(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE partner_directory (
      partner_id uuid PRIMARY KEY,
      name text NOT NULL DEFAULT '',
      slug text NOT NULL DEFAULT '',
      status text NOT NULL,
      max_organizations integer DEFAULT 0,
      max_devices integer DEFAULT 0,
      enrollment_max_ttl_minutes integer DEFAULT 1,
      timezone text NOT NULL DEFAULT 'UTC',
      version bigint NOT NULL,
      updated_at timestamptz NOT NULL DEFAULT now()
    )`);
  await tenantTable(q, {
    table: 'partner_directory',
    ownership: 'worker-only',
    worker: ['select', 'insert', 'update'],
  });
}

/** Reverts `partnerDirectoryTable`. */
export async function dropPartnerDirectoryTable(q: QueryRunner): Promise<void> {
  await q.query('DROP TABLE partner_directory');
}
