import { tenantTable } from '@rmm/persistence';
import type { QueryRunner } from 'typeorm';

/**
 * For a migration of a service that must know organizations it does not own.
 * The service login may read (and join) it inside its tenant; the worker login keeps it up to date.
 * @see ARCHITECTURE.md 2
 */
export async function organizationDirectoryTable(q: QueryRunner): Promise<void> {
  await q.query(`
    create table organization_directory (
      org_id uuid primary key,
      partner_id uuid not null,
      name text not null,
      slug text not null,
      status text not null,
      deleted boolean not null default false,
      version bigint not null,
      updated_at timestamptz not null default now()
    )`);
  await q.query('create index organization_directory_partner on organization_directory (partner_id, org_id)');
  await tenantTable(q, {
    table: 'organization_directory',
    ownership: 'organization',
    service: ['select'],
    worker: ['select', 'insert', 'update'],
  });
}

/** Undoes `organizationDirectoryTable`. */
export async function dropOrganizationDirectoryTable(q: QueryRunner): Promise<void> {
  await q.query('drop table organization_directory');
}
