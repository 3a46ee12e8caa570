import type { MigrationInterface, QueryRunner } from 'typeorm';

/** True for the platform login alone, which acts as the service login: no setting makes a service login see all tenants. */
const IS_PLATFORM_LOGIN = '(SELECT session_user <> current_user)';

/** Rows of an organization, or with `org_id` null of the partner, which its organizations may read and not change. */
const byOwner = (asOrganization: string): string => `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid) AND (org_id IS NULL OR
      CASE (SELECT current_setting('rmm.org_access', true))
        WHEN 'all' THEN true
        WHEN 'selected' THEN uuid_send(org_id) IN (
          SELECT decode(unnest(string_to_array(current_setting('rmm.org_ids', true), ',')), 'hex'))
        ELSE false
      END)
    WHEN 'organization' THEN ${asOrganization}
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;
const OF_OWN_ORGANIZATION = `org_id = (SELECT nullif(current_setting('rmm.org_id', true), '')::uuid)`;
const DUAL_WRITE = byOwner(OF_OWN_ORGANIZATION);
const DUAL_READ = byOwner(`${OF_OWN_ORGANIZATION}
      OR (org_id IS NULL AND partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid))`);

/** The columns that a script and its versions have in common. */
const SCRIPT_COLUMNS = `
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      description text CHECK (char_length(description) <= 10000),
      category text CHECK (char_length(category) BETWEEN 1 AND 100),
      os_types text[] NOT NULL CHECK (cardinality(os_types) > 0 AND os_types <@ '{windows,macos,linux}'::text[]),
      language text NOT NULL CHECK (language IN ('powershell', 'bash', 'python', 'cmd')),
      content text NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 262144),
      parameters jsonb,
      run_as text NOT NULL CHECK (run_as IN ('system', 'user', 'elevated')),
      timeout_seconds integer NOT NULL CHECK (timeout_seconds BETWEEN 1 AND 3600),
      exit_code_severity_mapping jsonb,
      tags text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 20),
      version integer NOT NULL CHECK (version >= 1),`;

/** Creates the tables of scripts and of their replaced versions. */
export class AddScripts1795420815000 implements MigrationInterface {
  name = 'AddScripts1795420815000';

  async up(q: QueryRunner): Promise<void> {
    await this.createScripts(q);
    await this.createVersions(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP TABLE script_version, script');
  }

  private async createScripts(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE script (
      id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      org_id uuid,
      name_key text NOT NULL,${SCRIPT_COLUMNS}
      definition_sha256 text NOT NULL CHECK (definition_sha256 ~ '^[0-9a-f]{64}$'),
      version_created_by uuid,
      version_created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      CONSTRAINT script_partner_key UNIQUE (id, partner_id),
      CONSTRAINT script_owner_key UNIQUE (id, org_id, partner_id),
      CONSTRAINT script_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(
      `CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON script FOR EACH ROW EXECUTE FUNCTION stamp_change()`,
    );
    await q.query(`CREATE UNIQUE INDEX script_org_name_key ON script (org_id, name_key) WHERE org_id IS NOT NULL`);
    await q.query(`CREATE UNIQUE INDEX script_partner_name_key ON script (partner_id, name_key) WHERE org_id IS NULL`);
    for (const owner of ['org', 'partner']) {
      await q.query(`CREATE INDEX script_${owner}_idx ON script (${owner}_id, created_at DESC, id DESC)`);
      await q.query(`CREATE INDEX script_${owner}_name_idx ON script (${owner}_id, name_key, id)`);
    }
    await q.query(`CREATE INDEX script_all_newest_idx ON script (created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX script_changes_idx ON script (partner_id, updated_at, id)`);
    await secureTable(q, 'script', {
      rows: { SELECT: DUAL_READ, INSERT: DUAL_WRITE, UPDATE: DUAL_WRITE, DELETE: DUAL_WRITE },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, DELETE',
    });
  }

  private async createVersions(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE script_version (
      id uuid PRIMARY KEY,
      script_id uuid NOT NULL,
      partner_id uuid NOT NULL,
      org_id uuid,${SCRIPT_COLUMNS}
      created_by uuid,
      created_at timestamptz(3) NOT NULL,
      replaced_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT script_version_key UNIQUE (script_id, version),
      CONSTRAINT script_version_script_fkey
        FOREIGN KEY (script_id, partner_id) REFERENCES script (id, partner_id) ON DELETE CASCADE,
      CONSTRAINT script_version_owner_fkey
        FOREIGN KEY (script_id, org_id, partner_id) REFERENCES script (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX script_version_org_idx ON script_version (org_id, id)`);
    await secureTable(q, 'script_version', {
      rows: { SELECT: DUAL_READ, INSERT: DUAL_WRITE, UPDATE: DUAL_WRITE, DELETE: DUAL_WRITE },
      service: 'SELECT, INSERT, DELETE',
      worker: 'SELECT',
    });
  }
}

type Command = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
const COMMANDS: readonly Command[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

interface TableSecurity {
  /** The rows the service login may use, by command; every row of a table with a `comment`. */
  rows?: string | Record<Command, string>;
  /** The reason for a table without tenant policies: `rmm:worker-only` or `rmm:global`. */
  comment?: string;
  /** The commands granted to the service login. */
  service?: string;
  /** The commands granted to the worker login, on all rows. */
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
      const restricted = login === 'service' && rows !== undefined;
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

/** Returns the quoted names of the runtime logins and the schema; the migrations runner sets them on its connection. */
async function loginRoles(q: QueryRunner): Promise<{ service: string; worker: string; schema: string }> {
  const rows = (await q.query(`
    SELECT quote_ident(current_setting('rmm.service_role')) AS service,
           quote_ident(current_setting('rmm.worker_role')) AS worker,
           quote_ident(current_schema()) AS schema`)) as { service: string; worker: string; schema: string }[];
  return rows[0];
}
