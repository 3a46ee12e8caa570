import type { QueryRunner } from 'typeorm';
import { tenantTable } from '@rmm/persistence/testing';

/**
 * Creates `organization_directory` in a migration of a service that looks up organizations it does not own. The service
 * login may read and join it inside its tenant; the worker login writes it.
 */
export async function organizationDirectoryTable(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE organization_directory (
      org_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      name text NOT NULL DEFAULT '',
      slug text NOT NULL DEFAULT '',
      status text NOT NULL,
      deleted boolean NOT NULL DEFAULT false,
      version bigint NOT NULL,
      updated_at timestamptz NOT NULL DEFAULT now()
    )`);
  await q.query('CREATE INDEX organization_directory_partner ON organization_directory (partner_id, org_id)');
  await tenantTable(q, {
    table: 'organization_directory',
    ownership: 'organization',
    service: ['select'],
    worker: ['select', 'insert', 'update'],
  });
}

/** Reverts `organizationDirectoryTable`. */
export async function dropOrganizationDirectoryTable(q: QueryRunner): Promise<void> {
  await q.query('DROP TABLE organization_directory');
}
