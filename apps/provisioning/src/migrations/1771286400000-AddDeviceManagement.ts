import type { MigrationInterface, QueryRunner } from 'typeorm';

/** True for the platform login alone, which acts as the service login: no setting makes a service login see all tenants. */
const IS_PLATFORM_LOGIN = '(SELECT session_user <> current_user)';
const OF_PARTNER = `partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)`;
const OF_ORGANIZATION = `org_id = (SELECT nullif(current_setting('rmm.org_id', true), '')::uuid)`;
const OF_ACCESSIBLE_ORGANIZATION = `
      CASE (SELECT current_setting('rmm.org_access', true))
        WHEN 'all' THEN true
        WHEN 'selected' THEN uuid_send(org_id) IN (
          SELECT decode(unnest(string_to_array(current_setting('rmm.org_ids', true), ',')), 'hex'))
        ELSE false
      END`;

const rowsOf = (asPartner: string, asOrganization: string): string => `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN ${asPartner}
    WHEN 'organization' THEN ${asOrganization}
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/** Rows that belong to one organization. */
const ORGANIZATION = rowsOf(`${OF_PARTNER} AND (${OF_ACCESSIBLE_ORGANIZATION})`, OF_ORGANIZATION);

/** Rows of an organization, or with `org_id` null of the partner, which its organizations may read and not change. */
const OF_PARTNER_OR_ACCESSIBLE = `${OF_PARTNER} AND (org_id IS NULL OR (${OF_ACCESSIBLE_ORGANIZATION}))`;
const DUAL_WRITE = rowsOf(OF_PARTNER_OR_ACCESSIBLE, OF_ORGANIZATION);
const DUAL_READ = rowsOf(OF_PARTNER_OR_ACCESSIBLE, `${OF_ORGANIZATION} OR (org_id IS NULL AND ${OF_PARTNER})`);

/** Adds definitions of custom fields, one-time provisioning of devices and the rotation of agent tokens. */
export class AddDeviceManagement1771286400000 implements MigrationInterface {
  name = 'AddDeviceManagement1771286400000';

  async up(q: QueryRunner): Promise<void> {
    await this.createCustomFieldDefinitions(q);
    await this.createDeviceProvisions(q);
    await this.createAgentTokenRotations(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP TABLE agent_token_rotation, device_provision, custom_field_definition');
  }

  private async createCustomFieldDefinitions(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE custom_field_definition (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      org_id uuid,
      field_key text NOT NULL CHECK (char_length(field_key) BETWEEN 1 AND 100),
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      name_key text NOT NULL,
      type text NOT NULL CHECK (type IN ('text', 'number', 'boolean', 'dropdown', 'date')),
      options text[] NOT NULL DEFAULT '{}',
      required boolean NOT NULL DEFAULT false,
      default_value jsonb,
      device_types text[] NOT NULL DEFAULT '{}',
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      CONSTRAINT custom_field_definition_key UNIQUE NULLS NOT DISTINCT (partner_id, org_id, field_key),
      CONSTRAINT custom_field_definition_options_check CHECK ((type = 'dropdown') = (options <> '{}')),
      CONSTRAINT custom_field_definition_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(`CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON custom_field_definition
      FOR EACH ROW EXECUTE FUNCTION stamp_change()`);
    for (const owner of ['org', 'partner']) {
      await q.query(`CREATE INDEX custom_field_definition_${owner}_idx
        ON custom_field_definition (${owner}_id, created_at DESC, id DESC)`);
      await q.query(`CREATE INDEX custom_field_definition_${owner}_name_idx
        ON custom_field_definition (${owner}_id, name_key, id)`);
    }
    await q.query(`CREATE INDEX custom_field_definition_all_newest_idx
      ON custom_field_definition (created_at DESC, id DESC)`);
    await secureTable(q, 'custom_field_definition', {
      rows: { SELECT: DUAL_READ, INSERT: DUAL_WRITE, UPDATE: DUAL_WRITE, DELETE: DUAL_WRITE },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, DELETE',
    });
  }

  /** One-time tokens with which the agents of new devices fetch their identity; a used one is deleted. */
  private async createDeviceProvisions(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE device_provision (
      device_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
      expires_at timestamptz(3) NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT device_provision_token_key UNIQUE (token_hash),
      CONSTRAINT device_provision_device_fkey
        FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX device_provision_org_idx ON device_provision (org_id)`);
    await q.query(`CREATE INDEX device_provision_partner_idx ON device_provision (partner_id)`);
    await secureTable(q, 'device_provision', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, DELETE',
      worker: 'SELECT',
    });
  }

  /** Agent tokens that are being replaced: the present one is valid until the next one is used or `expires_at`. */
  private async createAgentTokenRotations(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE agent_token_rotation (
      device_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      next_token_hash bytea CHECK (octet_length(next_token_hash) = 32),
      offered_at timestamptz(3),
      expires_at timestamptz(3) NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT agent_token_rotation_token_key UNIQUE (next_token_hash),
      CONSTRAINT agent_token_rotation_offer_check CHECK ((next_token_hash IS NULL) = (offered_at IS NULL)),
      CONSTRAINT agent_token_rotation_device_fkey
        FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX agent_token_rotation_org_idx ON agent_token_rotation (org_id)`);
    await q.query(`CREATE INDEX agent_token_rotation_partner_idx ON agent_token_rotation (partner_id)`);
    await secureTable(q, 'agent_token_rotation', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, DELETE',
    });
  }
}

type Command = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
const COMMANDS: readonly Command[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

interface TableSecurity {
  /** The rows the service login may use, by command. */
  rows: string | Record<Command, string>;
  /** The commands granted to the service login. */
  service: string;
  /** The commands granted to the worker login, on all rows. */
  worker: string;
}

/** Enables row-level security and creates the policies and grants of one table. */
async function secureTable(q: QueryRunner, table: string, { rows, ...granted }: TableSecurity): Promise<void> {
  const roles = await loginRoles(q);
  await q.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`);
  await q.query(`REVOKE ALL ON ${table} FROM PUBLIC, ${roles.service}, ${roles.worker}`);
  for (const login of ['service', 'worker'] as const) {
    const commands = granted[login].split(', ');
    for (const command of COMMANDS) {
      const restricted = login === 'service';
      if (!restricted && !commands.includes(command)) continue;
      const condition = !restricted ? 'true' : typeof rows === 'string' ? rows : rows[command];
      const using = command === 'INSERT' ? '' : `USING (${condition})`;
      const check = command === 'INSERT' || command === 'UPDATE' ? `WITH CHECK (${condition})` : '';
      const name = `${login}_${command.toLowerCase()}`;
      await q.query(`CREATE POLICY ${name} ON ${table} FOR ${command} TO ${roles[login]} ${using} ${check}`);
    }
    if (commands.length > 0) await q.query(`GRANT ${commands.join(', ')} ON ${table} TO ${roles[login]}`);
  }
}

/** Returns the quoted names of the runtime logins; the migrations runner sets them on its connection. */
async function loginRoles(q: QueryRunner): Promise<{ service: string; worker: string }> {
  const rows = (await q.query(`
    SELECT quote_ident(current_setting('rmm.service_role')) AS service,
           quote_ident(current_setting('rmm.worker_role')) AS worker`)) as { service: string; worker: string }[];
  return rows[0];
}
