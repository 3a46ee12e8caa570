import { tenantTable } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Service principals; overlapping rotation, source addresses and reminders of API keys; their use by day. */
export class CompleteKeys1767312000000 implements MigrationInterface {
  name = 'CompleteKeys1767312000000';

  async up(q: QueryRunner): Promise<void> {
    await this.addServicePrincipals(q);
    await this.widenApiKeys(q);
    await this.addUsage(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP TABLE api_key_usage, key_usage_batch');
    await q.query(
      'DROP INDEX api_key_active_of_principal, api_key_of_principal, api_key_previous_hash, api_key_expiring, api_key_overlapping',
    );
    await q.query(`
      ALTER TABLE api_key
        DROP CONSTRAINT api_key_principal_fkey, DROP CONSTRAINT api_key_principal_check,
        DROP COLUMN generation, DROP COLUMN source_cidrs, DROP COLUMN expiry_reminders, DROP COLUMN reminded_at,
        DROP COLUMN previous_key_hash, DROP COLUMN previous_valid_until`);
    await q.query('DROP TABLE service_principal');
  }

  private async addServicePrincipals(q: QueryRunner): Promise<void> {
    await q.query(`
      CREATE TABLE service_principal (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
        scopes text[] NOT NULL,
        status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
        created_by uuid,
        last_updated_by uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (id, org_id)
      )`);
    await q.query('CREATE INDEX service_principal_newest ON service_principal (org_id, created_at DESC, id DESC)');
    await q.query('CREATE INDEX service_principal_partner ON service_principal (partner_id, created_at DESC, id DESC)');
    await tenantTable(q, {
      table: 'service_principal',
      ownership: 'organization',
      service: ['select', 'insert', 'update'],
      worker: ['select'],
    });
  }

  private async widenApiKeys(q: QueryRunner): Promise<void> {
    await q.query(`
      ALTER TABLE api_key
        ADD COLUMN generation integer NOT NULL DEFAULT 1,
        ADD COLUMN source_cidrs text[] NOT NULL DEFAULT '{}',
        ADD COLUMN expiry_reminders boolean NOT NULL DEFAULT true,
        ADD COLUMN reminded_at timestamptz,
        ADD COLUMN previous_key_hash bytea,
        ADD COLUMN previous_valid_until timestamptz,
        ADD CONSTRAINT api_key_principal_check CHECK ((source = 'service_principal') = (principal_id IS NOT NULL)),
        ADD CONSTRAINT api_key_principal_fkey
          FOREIGN KEY (principal_id, org_id) REFERENCES service_principal (id, org_id)`);
    // the promise of SPEC 3.2, whatever races: a principal never has two active keys
    await q.query(`CREATE UNIQUE INDEX api_key_active_of_principal ON api_key (principal_id) WHERE status = 'active'`);
    await q.query(
      'CREATE INDEX api_key_of_principal ON api_key (principal_id, created_at DESC) WHERE principal_id IS NOT NULL',
    );
    await q.query('CREATE UNIQUE INDEX api_key_previous_hash ON api_key (previous_key_hash)');
    await q.query(`CREATE INDEX api_key_expiring ON api_key (expires_at) WHERE status = 'active'`);
    await q.query(
      'CREATE INDEX api_key_overlapping ON api_key (previous_valid_until) WHERE previous_valid_until IS NOT NULL',
    );
  }

  private async addUsage(q: QueryRunner): Promise<void> {
    await q.query(`
      CREATE TABLE api_key_usage (
        key_id uuid NOT NULL REFERENCES api_key (id) ON DELETE CASCADE,
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        day date NOT NULL,
        count bigint NOT NULL,
        PRIMARY KEY (key_id, day)
      )`);
    await q.query('CREATE INDEX api_key_usage_day ON api_key_usage (day)');
    await tenantTable(q, {
      table: 'api_key_usage',
      ownership: 'organization',
      service: ['select'],
      worker: ['select', 'insert', 'update', 'delete'],
    });
    // a batch that was taken in but not acknowledged comes again
    await q.query(`
      CREATE TABLE key_usage_batch (
        batch_id uuid PRIMARY KEY,
        received_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query('CREATE INDEX key_usage_batch_received ON key_usage_batch (received_at)');
    await tenantTable(q, {
      table: 'key_usage_batch',
      ownership: 'worker-only',
      worker: ['select', 'insert', 'delete'],
    });
  }
}
