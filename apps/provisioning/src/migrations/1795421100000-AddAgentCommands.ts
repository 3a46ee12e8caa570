import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows that belong to one organization. */
const ORGANIZATION = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid) AND (
      CASE (SELECT current_setting('rmm.org_access', true))
        WHEN 'all' THEN true
        WHEN 'selected' THEN uuid_send(org_id) IN (
          SELECT decode(unnest(string_to_array(current_setting('rmm.org_ids', true), ',')), 'hex'))
        ELSE false
      END)
    WHEN 'organization' THEN org_id = (SELECT nullif(current_setting('rmm.org_id', true), '')::uuid)
    WHEN 'system' THEN (SELECT session_user <> current_user)
    ELSE false
  END`;

/** Creates the commands that agents fetch with their heartbeats, and the builds that are pushed to them. */
export class AddAgentCommands1795421100000 implements MigrationInterface {
  name = 'AddAgentCommands1795421100000';

  async up(q: QueryRunner): Promise<void> {
    // In the row that a heartbeat updates anyway, and in no index: heartbeats without commands need no other statement.
    await q.query(`ALTER TABLE device_state ADD COLUMN has_commands boolean NOT NULL DEFAULT false`);
    await this.createCommands(q);
    await this.createPushes(q);
    await this.createFiles(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE dev_push_chunk, dev_push_file, dev_push, agent_command`);
    await q.query(`ALTER TABLE device_state DROP COLUMN has_commands`);
  }

  /** The payload may have secrets (the address of a download), so it is sealed. */
  private async createCommands(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE agent_command (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      device_id uuid NOT NULL,
      type text NOT NULL CHECK (char_length(type) BETWEEN 1 AND 50),
      payload_sealed text NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      delivered_at timestamptz(3),
      expires_at timestamptz(3) NOT NULL,
      CONSTRAINT agent_command_device_fkey
        FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX agent_command_device_idx ON agent_command (device_id, created_at)`);
    await q.query(`CREATE INDEX agent_command_org_idx ON agent_command (org_id, id)`);
    await q.query(`CREATE INDEX agent_command_partner_idx ON agent_command (partner_id)`);
    await q.query(`CREATE INDEX agent_command_expiry_idx ON agent_command (expires_at)`);
    await secureTable(q, 'agent_command', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, DELETE',
    });
  }

  private async createPushes(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE dev_push (
      id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      device_id uuid NOT NULL,
      token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
      checksum text NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
      bytes bigint NOT NULL CHECK (bytes > 0),
      version text NOT NULL CHECK (char_length(version) BETWEEN 1 AND 64),
      component text NOT NULL CHECK (component IN ('agent', 'desktop-helper', 'user-helper')),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      expires_at timestamptz(3) NOT NULL,
      downloaded_at timestamptz(3),
      CONSTRAINT dev_push_token_key UNIQUE (token_hash),
      CONSTRAINT dev_push_device_fkey
        FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX dev_push_device_idx ON dev_push (device_id)`);
    await q.query(`CREATE INDEX dev_push_org_idx ON dev_push (org_id, id)`);
    await q.query(`CREATE INDEX dev_push_partner_idx ON dev_push (partner_id)`);
    await q.query(`CREATE INDEX dev_push_expiry_idx ON dev_push (expires_at)`);
    await secureTable(q, 'dev_push', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, DELETE',
    });
  }

  /**
   * The files of pushes, in parts, where every replica can read them. They are stored before the device of the form is
   * known, so they have no tenant; only the worker login reads them, by the id of a push that the caller may read.
   */
  private async createFiles(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE dev_push_file (
      id uuid PRIMARY KEY,
      reserved_bytes bigint NOT NULL CHECK (reserved_bytes > 0),
      created_at timestamptz(3) NOT NULL DEFAULT now()
    )`);
    await q.query(`CREATE TABLE dev_push_chunk (
      file_id uuid NOT NULL REFERENCES dev_push_file (id) ON DELETE CASCADE,
      part integer NOT NULL CHECK (part >= 0),
      bytes bytea NOT NULL,
      PRIMARY KEY (file_id, part)
    )`);
    // Programs hardly get smaller, and compressing them takes time of the database.
    await q.query(`ALTER TABLE dev_push_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL`);
    for (const table of ['dev_push_file', 'dev_push_chunk']) {
      await secureTable(q, table, { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, DELETE' });
    }
  }
}

const COMMANDS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;

interface TableSecurity {
  /** The rows the service login may use. */
  rows?: string;
  /** The reason for a table without tenant policies. */
  comment?: string;
  service?: string;
  worker?: string;
}

/** Enables row-level security and creates the policies and grants of one table. */
async function secureTable(q: QueryRunner, table: string, { rows, comment, ...granted }: TableSecurity): Promise<void> {
  const roles = await loginRoles(q);
  await q.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`);
  await q.query(`REVOKE ALL ON ${table} FROM PUBLIC, ${roles.service}, ${roles.worker}`);
  if (comment) await q.query(`COMMENT ON TABLE ${table} IS '${comment}'`);
  for (const login of ['service', 'worker'] as const) {
    const commands = granted[login]?.split(', ') ?? [];
    for (const command of COMMANDS) {
      const condition = login === 'service' ? rows : commands.includes(command) ? 'true' : undefined;
      if (condition === undefined) continue;
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
