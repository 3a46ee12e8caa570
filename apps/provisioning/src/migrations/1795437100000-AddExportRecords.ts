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

const INVENTORY = 'device-inventory';
const SOFTWARE = 'device-software';
const RELATIONSHIPS = 'device-relationships';

/** The records that change with each report of an agent. */
const REPORTS: Record<string, { column: string; resources: string[] }> = {
  device_hardware: { column: 'hardware', resources: [INVENTORY] },
  device_disk: { column: 'disks', resources: [INVENTORY] },
  device_network: { column: 'adapters', resources: [INVENTORY, RELATIONSHIPS] },
  device_software: { column: 'software', resources: [SOFTWARE] },
};

/** Definitions with a row for each in the table of records. */
const DEFINITIONS = { script: 'scripts', custom_field_definition: 'custom-fields' };

/**
 * Adds the records that partners export in addition to organizations, sites and devices, with their export stamps. A row
 * either has a record that another service published, or represents rows of other tables (`reported`), from which the
 * export derives its fields; triggers stamp it when those change.
 */
export class AddExportRecords1795437100000 implements MigrationInterface {
  name = 'AddExportRecords1795437100000';

  async up(q: QueryRunner): Promise<void> {
    await this.createRecords(q);
    await this.addVisibleAt(q);
    await this.createMarks(q);
    await this.createDefinitionMarks(q);
    await this.createDeviceMarks(q);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const table of Object.keys(DEFINITIONS)) await q.query(`DROP TRIGGER mark_export_record ON ${table}`);
    for (const table of Object.keys(REPORTS)) {
      await q.query(`DROP TRIGGER mark_new_export_record ON ${table}; DROP TRIGGER mark_export_record ON ${table}`);
    }
    await q.query(`DROP TRIGGER mark_export_record ON device; DROP TRIGGER move_export_records ON device`);
    await q.query('DROP TRIGGER stamp_removed_definition ON custom_field_definition');
    await q.query('DROP TRIGGER stamp_visible ON organization; DROP TRIGGER stamp_visible_again ON organization');
    await q.query('DROP FUNCTION mark_definition, mark_device_report, mark_device, move_export_records');
    await q.query('DROP FUNCTION stamp_removed_definition, stamp_visible, mark_export_record');
    await q.query('ALTER TABLE organization DROP COLUMN visible_at');
    await q.query('DROP TABLE export_record');
  }

  private async createRecords(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE export_record (
      record_key uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      resource text NOT NULL CHECK (resource ~ '^[a-z-]{1,40}$'),
      id uuid NOT NULL,
      partner_id uuid NOT NULL,
      org_id uuid,
      site_id uuid,
      device_id uuid,
      source_updated_at timestamptz NOT NULL,
      reported boolean NOT NULL DEFAULT false,
      record jsonb,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      deleted_at timestamptz(3),
      CONSTRAINT export_record_id_key UNIQUE (partner_id, resource, id),
      CONSTRAINT export_record_owner_check CHECK (org_id IS NOT NULL OR (site_id IS NULL AND device_id IS NULL)),
      CONSTRAINT export_record_deleted_check CHECK (deleted_at IS NULL OR record IS NULL),
      CONSTRAINT export_record_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id),
      CONSTRAINT export_record_site_fkey FOREIGN KEY (site_id, org_id) REFERENCES site (id, org_id),
      CONSTRAINT export_record_device_fkey
        FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON export_record
      FOR EACH ROW EXECUTE FUNCTION stamp_change()`);
    await q.query(`CREATE INDEX export_record_changes_idx ON export_record (partner_id, resource, updated_at, id)`);
    // Few rows among those of the organizations, each of which repeats for every organization.
    await q.query(
      `CREATE INDEX export_record_wide_idx ON export_record (partner_id, resource, id) WHERE org_id IS NULL`,
    );
    await q.query(`CREATE INDEX export_record_wide_changes_idx ON export_record (partner_id, resource, updated_at, id)
      WHERE org_id IS NULL`);
    await q.query(`CREATE INDEX export_record_org_idx ON export_record (org_id, resource, id)`);
    await q.query(`CREATE INDEX export_record_org_changes_idx ON export_record (org_id, resource, updated_at, id)`);
    await q.query(`CREATE INDEX export_record_site_idx ON export_record (site_id, resource, id)`);
    await q.query(`CREATE INDEX export_record_site_changes_idx ON export_record (site_id, resource, updated_at, id)`);
    await q.query(`CREATE INDEX export_record_device_idx ON export_record (device_id, resource)`);
    await q.query(`CREATE INDEX export_record_deleted_idx ON export_record (deleted_at) WHERE deleted_at IS NOT NULL`);
    await secureTable(q, 'export_record', {
      rows: { SELECT: DUAL_READ, INSERT: DUAL_WRITE, UPDATE: DUAL_WRITE, DELETE: DUAL_WRITE },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
  }

  /**
   * The export stamp of an organization's share in the records of its partner: they appear with it, and again when it is
   * visible again. The name of the trigger sorts it behind `stamp_change`, whose time it takes.
   */
  private async addVisibleAt(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE organization ADD COLUMN visible_at timestamptz(3) NOT NULL DEFAULT now()');
    await q.query(`CREATE FUNCTION stamp_visible() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      new.visible_at := new.updated_at;
      RETURN new;
    END $$`);
    await q.query(`CREATE TRIGGER stamp_visible BEFORE INSERT ON organization
      FOR EACH ROW EXECUTE FUNCTION stamp_visible()`);
    await q.query(`CREATE TRIGGER stamp_visible_again BEFORE UPDATE ON organization FOR EACH ROW
      WHEN (new.deleted_at IS NULL AND new.status IN ('active', 'trial')
            AND NOT (old.deleted_at IS NULL AND old.status IN ('active', 'trial')))
      EXECUTE FUNCTION stamp_visible()`);
  }

  /** A report of now is newer than any record that was published before. */
  private async createMarks(q: QueryRunner): Promise<void> {
    await q.query(`CREATE FUNCTION mark_export_record(
      marked text, record_id uuid, partner uuid, org uuid, site uuid, device uuid) RETURNS void
    LANGUAGE sql SET search_path FROM CURRENT AS $$
      INSERT INTO export_record AS r (resource, id, partner_id, org_id, site_id, device_id, source_updated_at, reported)
      VALUES (marked, record_id, partner, org, site, device, clock_timestamp(), true)
      ON CONFLICT (partner_id, resource, id) DO UPDATE
        SET org_id = excluded.org_id, site_id = excluded.site_id, device_id = excluded.device_id, reported = true,
            record = CASE WHEN r.source_updated_at <= excluded.source_updated_at THEN NULL ELSE r.record END,
            deleted_at = CASE WHEN r.source_updated_at <= excluded.source_updated_at THEN NULL ELSE r.deleted_at END,
            source_updated_at = greatest(r.source_updated_at, excluded.source_updated_at)
    $$`);
  }

  private async createDefinitionMarks(q: QueryRunner): Promise<void> {
    await q.query(`CREATE FUNCTION mark_definition() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      IF tg_op = 'DELETE' THEN
        DELETE FROM export_record WHERE partner_id = old.partner_id AND resource = tg_argv[0] AND id = old.id AND record IS NULL;
        UPDATE export_record SET reported = false
         WHERE partner_id = old.partner_id AND resource = tg_argv[0] AND id = old.id;
      ELSE
        PERFORM mark_export_record(tg_argv[0], new.id, new.partner_id, new.org_id, NULL, NULL);
      END IF;
      RETURN NULL;
    END $$`);
    for (const [table, resource] of Object.entries(DEFINITIONS)) {
      await q.query(`CREATE TRIGGER mark_export_record AFTER INSERT OR UPDATE OR DELETE ON ${table}
        FOR EACH ROW EXECUTE FUNCTION mark_definition('${resource}')`);
    }
    // The definition of the partner then applies to the devices of the organization, whose values were never exported with it.
    await q.query(`CREATE FUNCTION stamp_removed_definition() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      IF EXISTS (SELECT FROM custom_field_definition c
                  WHERE c.partner_id = old.partner_id AND c.org_id IS NULL AND c.field_key = old.field_key) THEN
        UPDATE device SET updated_at = clock_timestamp() WHERE org_id = old.org_id AND custom_fields ? old.field_key;
      END IF;
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER stamp_removed_definition AFTER DELETE ON custom_field_definition
      FOR EACH ROW WHEN (old.org_id IS NOT NULL) EXECUTE FUNCTION stamp_removed_definition()`);
  }

  /** Every device has relationships, with its organization and site; inventory and software begin with the first report. */
  private async createDeviceMarks(q: QueryRunner): Promise<void> {
    await q.query(`CREATE FUNCTION mark_device_report() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE
      marked text;
    BEGIN
      IF tg_op = 'DELETE' THEN
        UPDATE export_record SET updated_at = clock_timestamp()
         WHERE device_id = old.device_id AND resource = ANY (tg_argv::text[]) AND record IS NULL;
        RETURN NULL;
      END IF;
      FOREACH marked IN ARRAY tg_argv LOOP
        PERFORM mark_export_record(marked, d.id, d.partner_id, d.org_id, d.site_id, d.id)
           FROM device d WHERE d.id = new.device_id;
      END LOOP;
      RETURN NULL;
    END $$`);
    for (const [table, { column, resources }] of Object.entries(REPORTS)) {
      const marked = resources.map((resource) => `'${resource}'`).join(', ');
      await q.query(`CREATE TRIGGER mark_new_export_record AFTER INSERT OR DELETE ON ${table}
        FOR EACH ROW EXECUTE FUNCTION mark_device_report(${marked})`);
      await q.query(`CREATE TRIGGER mark_export_record AFTER UPDATE ON ${table}
        FOR EACH ROW WHEN (old.${column} IS DISTINCT FROM new.${column}) EXECUTE FUNCTION mark_device_report(${marked})`);
    }
    await q.query(`CREATE FUNCTION mark_device() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      PERFORM mark_export_record('${RELATIONSHIPS}', new.id, new.partner_id, new.org_id, new.site_id, new.id);
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER mark_export_record AFTER INSERT ON device
      FOR EACH ROW EXECUTE FUNCTION mark_device()`);
    await q.query(`CREATE FUNCTION move_export_records() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      UPDATE export_record SET site_id = new.site_id WHERE device_id = new.id;
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER move_export_records AFTER UPDATE ON device FOR EACH ROW
      WHEN ((old.site_id, old.decommissioned_at IS NULL) IS DISTINCT FROM (new.site_id, new.decommissioned_at IS NULL))
      EXECUTE FUNCTION move_export_records()`);
  }
}

type Command = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
const COMMANDS: readonly Command[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

interface TableSecurity {
  /** The rows the service login may use, by command. */
  rows: Record<Command, string>;
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
    for (const command of COMMANDS) {
      const condition = login === 'service' ? rows[command] : 'true';
      const using = command === 'INSERT' ? '' : `USING (${condition})`;
      const check = command === 'INSERT' || command === 'UPDATE' ? `WITH CHECK (${condition})` : '';
      const name = `${login}_${command.toLowerCase()}`;
      await q.query(`CREATE POLICY ${name} ON ${table} FOR ${command} TO ${roles[login]} ${using} ${check}`);
    }
    await q.query(`GRANT ${granted[login]} ON ${table} TO ${roles[login]}`);
  }
}

/** Returns the quoted names of the runtime logins; the migrations runner sets them on its connection. */
async function loginRoles(q: QueryRunner): Promise<{ service: string; worker: string }> {
  const rows = (await q.query(`
    SELECT quote_ident(current_setting('rmm.service_role')) AS service,
           quote_ident(current_setting('rmm.worker_role')) AS worker`)) as { service: string; worker: string }[];
  return rows[0];
}
