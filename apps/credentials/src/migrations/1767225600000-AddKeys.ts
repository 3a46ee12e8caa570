import { dropOrganizationDirectoryTable, organizationDirectoryTable } from '@rmm/access';
import { dropMessagingTables, messagingTables } from '@rmm/messaging';
import { OWN_PARTNER, tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** API keys, enrollment keys with their reservations, partner principals and the two small projections they need. */
export class AddKeys1767225600000 implements MigrationInterface {
  name = 'AddKeys1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await messagingTables(q);
    await organizationDirectoryTable(q);
    await this.addPartnerDirectory(q);
    await this.addApiKeys(q);
    await this.addEnrollmentKeys(q);
    await this.addPartnerPrincipals(q);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const table of [
      'partner_principal_key',
      'partner_principal',
      'enrollment_reservation',
      'enrollment_key',
      'api_key',
      'partner_directory',
    ]) {
      await q.query(`DROP TABLE ${table}`);
    }
    await dropOrganizationDirectoryTable(q);
    await dropMessagingTables(q);
  }

  private async addPartnerDirectory(q: QueryRunner): Promise<void> {
    await q.query(`
      CREATE TABLE partner_directory (
        partner_id uuid PRIMARY KEY,
        name text NOT NULL,
        status text NOT NULL,
        enrollment_max_ttl_minutes integer,
        version bigint NOT NULL
      )`);
    await tenantTable(q, {
      table: 'partner_directory',
      ownership: 'partner',
      // members of an organization are bound by their partner's cap as well
      policies: { select: `partner_id = ${OWN_PARTNER} OR current_setting('rmm.scope', true) = 'system'` },
      service: ['select'],
      worker: ['select', 'insert', 'update'],
    });
  }

  private async addApiKeys(q: QueryRunner): Promise<void> {
    await q.query(`
      CREATE TABLE api_key (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
        key_prefix text NOT NULL,
        key_hash bytea NOT NULL UNIQUE,
        scopes text[] NOT NULL,
        expires_at timestamptz,
        rate_limit integer NOT NULL CHECK (rate_limit BETWEEN 1 AND 100000),
        status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'expired', 'revoked')),
        source text NOT NULL DEFAULT 'manual' CHECK (source IN ('manual', 'service_principal')),
        principal_id uuid,
        created_by uuid,
        last_used_at timestamptz,
        usage_count bigint NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query('CREATE INDEX api_key_newest ON api_key (org_id, created_at DESC, id DESC)');
    await q.query('CREATE INDEX api_key_partner ON api_key (partner_id, created_at DESC, id DESC)');
    await tenantTable(q, {
      table: 'api_key',
      ownership: 'organization',
      service: ['select', 'insert', 'update'],
      worker: ['select', 'update'],
    });
  }

  private async addEnrollmentKeys(q: QueryRunner): Promise<void> {
    await q.query(`
      CREATE TABLE enrollment_key (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        site_id uuid,
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
        key_hash bytea NOT NULL UNIQUE,
        secret_hash bytea,
        generation integer NOT NULL DEFAULT 1,
        usage_count integer NOT NULL DEFAULT 0 CHECK (usage_count >= 0),
        max_usage integer CHECK (max_usage BETWEEN 1 AND 100000),
        expires_at timestamptz NOT NULL,
        created_by uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (id, partner_id)
      )`);
    await q.query('CREATE INDEX enrollment_key_newest ON enrollment_key (org_id, created_at DESC, id DESC)');
    await q.query('CREATE INDEX enrollment_key_partner ON enrollment_key (partner_id, created_at DESC, id DESC)');
    await tenantTable(q, {
      table: 'enrollment_key',
      ownership: 'organization',
      service: ['select', 'insert', 'update', 'delete'],
      worker: ['select', 'update'],
    });
    await q.query(`
      CREATE TABLE enrollment_reservation (
        device_id uuid PRIMARY KEY,
        enrollment_key_id uuid NOT NULL,
        generation integer NOT NULL,
        state text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'confirmed', 'released')),
        reserved_at timestamptz NOT NULL DEFAULT now(),
        settled_at timestamptz
      )`);
    await q.query(
      `CREATE INDEX enrollment_reservation_open ON enrollment_reservation (reserved_at) WHERE state = 'reserved'`,
    );
    await tenantTable(q, {
      table: 'enrollment_reservation',
      ownership: 'worker-only',
      service: [],
      worker: ['select', 'insert', 'update', 'delete'],
    });
  }

  private async addPartnerPrincipals(q: QueryRunner): Promise<void> {
    await q.query(`
      CREATE TABLE partner_principal (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL,
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
        description text,
        status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
        scopes text[] NOT NULL,
        expires_at timestamptz,
        source_cidrs text[] NOT NULL DEFAULT '{}',
        created_by uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (id, partner_id)
      )`);
    await q.query('CREATE UNIQUE INDEX partner_principal_name ON partner_principal (partner_id, lower(name))');
    await q.query(`
      CREATE TABLE partner_principal_key (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        principal_id uuid NOT NULL,
        partner_id uuid NOT NULL,
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
        key_prefix text NOT NULL,
        key_hash bytea NOT NULL UNIQUE,
        status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'revoked')),
        expires_at timestamptz,
        rate_limit integer NOT NULL CHECK (rate_limit BETWEEN 1 AND 10000),
        last_used_at timestamptz,
        usage_count bigint NOT NULL DEFAULT 0,
        revoked_at timestamptz,
        rotated_from_id uuid,
        created_by uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        FOREIGN KEY (principal_id, partner_id) REFERENCES partner_principal (id, partner_id)
      )`);
    await q.query('CREATE INDEX partner_principal_key_principal ON partner_principal_key (principal_id, created_at)');
    for (const table of ['partner_principal', 'partner_principal_key']) {
      await tenantTable(q, {
        table,
        ownership: 'partner',
        service: ['select', 'insert', 'update'],
        worker: ['select', 'update'],
      });
    }
  }
}
