import { tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A copy of identity's security policies of organizations, to be shown with them. */
export class AddOrganizationSecurity1767312002000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table organization_security (
        org_id uuid primary key,
        partner_id uuid not null,
        security jsonb not null,
        version bigint not null,
        updated_at timestamptz(3) not null default now(),
        constraint organization_security_organization_fkey
          foreign key (org_id, partner_id) references organization (id, partner_id)
      )`);
    await tenantTable(q, {
      table: 'organization_security',
      ownership: 'organization',
      service: ['select', 'insert', 'update'],
      worker: ['select', 'insert', 'update'],
    });
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop table organization_security');
  }
}
