import { tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns whose change counts as an update of the device for exports; heartbeats and metrics do not. CONTRACT 4.4.2 */
const EXPORTED = [
  'hostname',
  'display_name',
  'site_id',
  'os_type',
  'os_version',
  'architecture',
  'device_role',
  'is_virtual',
  'virtualization_platform',
  'tags',
  'custom_fields',
  'hardware',
];

const row = (alias: string) => `(${EXPORTED.map((column) => `${alias}.${column}`).join(', ')})`;

/** Devices and their agents. */
export class AddDevices1767225601000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table device (
        id uuid primary key default gen_random_uuid(),
        partner_id uuid not null,
        org_id uuid not null,
        site_id uuid,
        agent_id uuid not null default gen_random_uuid(),
        agent_token_hash bytea check (octet_length(agent_token_hash) = 32),
        enrollment_key_id uuid,
        enrollment_reservation_id uuid,
        hostname text not null check (char_length(hostname) between 1 and 255),
        display_name text check (char_length(display_name) between 1 and 255),
        os_type text not null check (os_type in ('windows', 'macos', 'linux')),
        os_version text,
        architecture text,
        device_role text,
        is_virtual boolean,
        virtualization_platform text,
        agent_version text,
        status text not null
          check (status in ('online', 'offline', 'maintenance', 'decommissioned', 'updating', 'pending')),
        tags text[] not null default '{}',
        custom_fields jsonb not null default '{}',
        hardware jsonb,
        metrics jsonb,
        last_seen_at timestamptz(3),
        enrolled_at timestamptz(3),
        version bigint not null default 1,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        constraint device_agent_key unique (agent_id),
        constraint device_agent_token_key unique (agent_token_hash),
        constraint device_reservation_key unique (enrollment_reservation_id),
        constraint device_organization_fkey foreign key (org_id, partner_id) references organization (id, partner_id),
        constraint device_site_fkey foreign key (site_id, org_id) references site (id, org_id)
      )`);
    await q.query(`
      create trigger stamp_new before insert on device for each row execute function stamp_change()`);
    await q.query(`
      create trigger stamp_change before update on device for each row
      when (${row('old')} is distinct from ${row('new')}) execute function stamp_change()`);
    await q.query('create index device_newest_idx on device (org_id, created_at desc, id desc)');
    await q.query('create index device_partner_newest_idx on device (partner_id, created_at desc, id desc)');
    await q.query('create index device_site_idx on device (site_id, created_at desc, id desc)');
    await q.query('create index device_hostname_idx on device (org_id, lower(hostname))');
    await q.query(`create index device_online_idx on device (last_seen_at) where status = 'online'`);
    await tenantTable(q, {
      table: 'device',
      ownership: 'organization',
      service: ['select', 'insert', 'update'],
      worker: ['select'],
    });
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop table device');
  }
}
