import { tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Partners as identity tells of them, organizations, their external links, sites. */
export class AddTenancy1767225600000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await addStampChange(q);
    await addPartner(q);
    await addOrganization(q);
    await addExternalLink(q);
    await addSite(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop table site, external_link, organization, partner');
    await q.query('drop function stamp_change()');
  }
}

/**
 * Times come from the database clock, in the milliseconds that travel. The shared lock lets a walk over changed records
 * wait until no stamped change is still uncommitted, so that it never passes one by. @see export/snapshot.ts
 */
async function addStampChange(q: QueryRunner): Promise<void> {
  await q.query(`
    create function stamp_change() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('rmm.provisioning.export.' || new.partner_id, 0));
      new.updated_at := date_trunc('milliseconds', clock_timestamp());
      if tg_op = 'INSERT' then
        new.created_at := new.updated_at;
      end if;
      return new;
    end $$`);
}

const stampChanges = (table: string) =>
  `create trigger stamp_change before insert or update on ${table} for each row execute function stamp_change()`;

async function addPartner(q: QueryRunner): Promise<void> {
  await q.query(`
    create table partner (
      id uuid primary key,
      name text not null,
      slug text not null,
      status text not null check (status in ('pending', 'active', 'suspended', 'churned', 'offboarding')),
      max_organizations integer check (max_organizations >= 0),
      max_devices integer check (max_devices >= 0),
      timezone text not null,
      version bigint not null,
      updated_at timestamptz(3) not null default now()
    )`);
  await tenantTable(q, {
    table: 'partner',
    ownership: 'partner',
    columns: { partnerId: 'id' },
    service: ['select'],
    worker: ['select', 'insert', 'update'],
  });
}

async function addOrganization(q: QueryRunner): Promise<void> {
  await q.query(`
    create table organization (
      id uuid primary key default gen_random_uuid(),
      partner_id uuid not null,
      name text not null check (char_length(name) between 1 and 255),
      name_key text not null,
      slug text not null check (char_length(slug) between 1 and 110),
      slug_base text not null generated always as (regexp_replace(slug, '-[0-9]+$', '')) stored,
      type text not null default 'customer' check (type in ('customer', 'internal')),
      status text not null default 'active'
        check (status in ('active', 'trial', 'suspended', 'churned', 'offboarding')),
      settings jsonb not null default '{}',
      contract_start timestamptz(3),
      contract_end timestamptz(3),
      billing_contact jsonb,
      is_first boolean not null default false,
      version bigint not null default 1,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      deleted_at timestamptz(3),
      constraint organization_partner_key unique (id, partner_id)
    )`);
  await q.query(stampChanges('organization'));
  await q.query(`
    create unique index organization_slug_key on organization (partner_id, slug) where deleted_at is null`);
  await q.query('create unique index organization_first_key on organization (partner_id) where is_first');
  await q.query('create index organization_name_idx on organization (partner_id, name_key)');
  await q.query('create index organization_slug_base_idx on organization (partner_id, slug_base)');
  await q.query('create index organization_newest_idx on organization (partner_id, created_at desc, id desc)');
  await q.query('create index organization_oldest_idx on organization (created_at, id)');
  await q.query('create index organization_walk_idx on organization (partner_id, id)');
  await q.query('create index organization_changes_idx on organization (partner_id, updated_at, id)');
  await tenantTable(q, {
    table: 'organization',
    ownership: 'organization',
    columns: { orgId: 'id' },
    service: ['select', 'insert', 'update'],
    worker: ['select', 'insert'],
  });
}

async function addExternalLink(q: QueryRunner): Promise<void> {
  await q.query(`
    create table external_link (
      id uuid primary key default gen_random_uuid(),
      partner_id uuid not null,
      org_id uuid not null,
      system text not null check (char_length(system) between 1 and 64),
      external_id text not null check (char_length(external_id) between 1 and 255),
      created_at timestamptz(3) not null default now(),
      constraint external_link_key unique (partner_id, system, external_id),
      constraint external_link_organization_fkey
        foreign key (org_id, partner_id) references organization (id, partner_id)
    )`);
  await q.query('create index external_link_org_idx on external_link (org_id)');
  await tenantTable(q, {
    table: 'external_link',
    ownership: 'organization',
    service: ['select', 'insert', 'update'],
  });
}

async function addSite(q: QueryRunner): Promise<void> {
  await q.query(`
    create table site (
      id uuid primary key default gen_random_uuid(),
      partner_id uuid not null,
      org_id uuid not null,
      name text not null check (char_length(name) between 1 and 255),
      name_key text not null,
      timezone text not null default 'UTC',
      address jsonb,
      contact jsonb,
      settings jsonb not null default '{}',
      version bigint not null default 1,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      deleted_at timestamptz(3),
      constraint site_organization_key unique (id, org_id),
      constraint site_organization_fkey foreign key (org_id, partner_id) references organization (id, partner_id)
    )`);
  await q.query(stampChanges('site'));
  await q.query('create unique index site_name_key on site (org_id, name_key) where deleted_at is null');
  await q.query('create index site_newest_idx on site (org_id, created_at desc, id desc)');
  await q.query('create index site_partner_newest_idx on site (partner_id, created_at desc, id desc)');
  await q.query('create index site_walk_idx on site (partner_id, id)');
  await q.query('create index site_changes_idx on site (partner_id, updated_at, id)');
  await tenantTable(q, {
    table: 'site',
    ownership: 'organization',
    service: ['select', 'insert', 'update'],
    worker: ['select', 'insert'],
  });
}
