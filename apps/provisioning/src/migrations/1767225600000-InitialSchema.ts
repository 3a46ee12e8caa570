import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows that belong to one organization. */
const ORGANIZATION = `
  CASE current_setting('rmm.scope', true)
    WHEN 'partner' THEN partner_id = nullif(current_setting('rmm.partner_id', true), '')::uuid AND (
      CASE current_setting('rmm.org_access', true)
        WHEN 'all' THEN true
        WHEN 'selected' THEN org_id = ANY (nullif(current_setting('rmm.org_ids', true), '')::uuid[])
        ELSE false
      END)
    WHEN 'organization' THEN org_id = nullif(current_setting('rmm.org_id', true), '')::uuid
    WHEN 'system' THEN true
    ELSE false
  END`;

/** Rows of the table organization itself, whose id is the organization. */
const ORGANIZATION_ITSELF = ORGANIZATION.replaceAll('org_id =', 'id =');

/** Rows of the table partner. */
const PARTNER = `
  CASE current_setting('rmm.scope', true)
    WHEN 'partner' THEN id = nullif(current_setting('rmm.partner_id', true), '')::uuid
    WHEN 'organization' THEN false
    WHEN 'system' THEN true
    ELSE false
  END`;

/** Stored answers, read only by the caller who has the key; of the partner or organization in whose scope the caller was. */
const IDEMPOTENCY_RECORD = `
  CASE current_setting('rmm.scope', true)
    WHEN 'partner' THEN partner_id = nullif(current_setting('rmm.partner_id', true), '')::uuid
    WHEN 'organization' THEN org_id = nullif(current_setting('rmm.org_id', true), '')::uuid
    WHEN 'system' THEN true
    ELSE false
  END`;

/** Creates every table of the service. */
export class InitialSchema1767225600000 implements MigrationInterface {
  name = 'InitialSchema1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await this.createPartitionMaintenance(q);
    await this.createOutbox(q);
    await this.createInbox(q);
    await this.createDeadLetters(q);
    await this.createIdempotencyRecords(q);
    await this.createStampChange(q);
    await this.createPartners(q);
    await this.createOrganizations(q);
    await this.createSites(q);
    await this.createDevices(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`
      DROP TABLE idempotency_record, organization_security, device, site, external_link, organization, partner, dead_letter_message, inbox,
        rmm_partition_rule, outbox_lease, outbox`);
    await q.query('DROP FUNCTION stamp_change');
    await q.query('DROP FUNCTION rmm_drop_empty_outbox_partitions');
    await q.query('DROP FUNCTION rmm_maintain_partitions');
    await q.query('DROP FUNCTION rmm_maintain_partitions_at');
  }

  /** Tables partitioned by time are rows of rmm_partition_rule; the worker login calls the function with owner rights. */
  private async createPartitionMaintenance(q: QueryRunner): Promise<void> {
    const { worker, schema } = await loginRoles(q);
    await q.query(`CREATE TABLE rmm_partition_rule (
    table_name  text PRIMARY KEY,
    time_column text NOT NULL,
    every_days  integer NOT NULL CHECK (every_days BETWEEN 1 AND 366),
    keep_days   integer CHECK (keep_days >= 1),
    ahead_days  integer NOT NULL CHECK (ahead_days BETWEEN 1 AND 366)
  );
  ALTER TABLE rmm_partition_rule ENABLE ROW LEVEL SECURITY`);
    await q.query(`COMMENT ON TABLE rmm_partition_rule IS 'rmm:worker-only'`);
    await q.query(`CREATE FUNCTION rmm_maintain_partitions_at(at timestamptz, OUT created integer, OUT dropped integer)
  LANGUAGE plpgsql
  SET search_path = ${schema}, pg_temp
  SET timezone = 'UTC'
  SET lock_timeout = '3s'
  AS $body$
  DECLARE
    rule record;
    child record;
    seconds bigint;
    lower_bound timestamptz;
    upper_bound timestamptz;
    part text;
    fallback text;
    columns text;
    misplaced boolean;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('rmm.partitions.' || current_schema(), 0));
    created := 0;
    dropped := 0;
    FOR rule IN SELECT * FROM rmm_partition_rule ORDER BY table_name LOOP
      seconds := 86400 * rule.every_days;
      fallback := rule.table_name || '_default';
      lower_bound := to_timestamp(floor(extract(epoch FROM at) / seconds) * seconds);
      WHILE lower_bound <= at + make_interval(days => rule.ahead_days) LOOP
        upper_bound := lower_bound + make_interval(secs => seconds);
        part := rule.table_name || '_p' || to_char(lower_bound, 'YYYYMMDD');
        IF to_regclass(quote_ident(part)) IS NULL THEN
          EXECUTE format('create table %I (like %I including defaults including constraints including generated including storage)',
                         part, rule.table_name);
          EXECUTE format('alter table %I enable row level security', part);
          EXECUTE format('select exists (select from %I where %I >= $1 and %I < $2)', fallback, rule.time_column, rule.time_column)
             INTO misplaced USING lower_bound, upper_bound;
          IF misplaced THEN
            SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
              FROM pg_attribute WHERE attrelid = to_regclass(quote_ident(part)) AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
            EXECUTE format('with moved as (delete from %I where %I >= $1 and %I < $2 returning *) insert into %I (%s) select %s from moved',
                           fallback, rule.time_column, rule.time_column, part, columns, columns)
              USING lower_bound, upper_bound;
          END IF;
          EXECUTE format('alter table %I attach partition %I for values from (%L) to (%L)',
                         rule.table_name, part, lower_bound, upper_bound);
          created := created + 1;
        END IF;
        lower_bound := upper_bound;
      END LOOP;
      IF rule.keep_days IS NOT NULL THEN
        FOR child IN
          SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
           WHERE i.inhparent = to_regclass(quote_ident(rule.table_name)) AND c.relname ~ '_p[0-9]{8}$'
        LOOP
          lower_bound := to_timestamp(right(child.relname, 8), 'YYYYMMDD');
          IF lower_bound + make_interval(secs => seconds) <= at - make_interval(days => rule.keep_days) THEN
            EXECUTE format('drop table %I', child.relname);
            dropped := dropped + 1;
          END IF;
        END LOOP;
        EXECUTE format('delete from %I where %I < $1', fallback, rule.time_column)
          USING at - make_interval(days => rule.keep_days);
      END IF;
    END LOOP;
  END
  $body$`);
    await q.query(`CREATE FUNCTION rmm_maintain_partitions(OUT created integer, OUT dropped integer)
  LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS 'select created, dropped from rmm_maintain_partitions_at(now())'`);
    await q.query(`REVOKE ALL ON FUNCTION rmm_maintain_partitions_at(timestamptz) FROM PUBLIC`);
    await q.query(`REVOKE ALL ON FUNCTION rmm_maintain_partitions() FROM PUBLIC`);
    await q.query(`GRANT EXECUTE ON FUNCTION rmm_maintain_partitions() TO ${worker}`);
    await q.query(`COMMENT ON FUNCTION rmm_maintain_partitions() IS 'rmm:worker-function'`);
  }

  /** The outbox has no keep_days: an unpublished row must never be dropped for its age, only an empty day. */
  private async createOutbox(q: QueryRunner): Promise<void> {
    const { worker, schema } = await loginRoles(q);
    await q.query(`CREATE TABLE outbox (
      seq          bigint GENERATED ALWAYS AS IDENTITY,
      created_at   timestamptz NOT NULL DEFAULT now(),
      id           uuid NOT NULL,
      aggregate_id text COLLATE "C" NOT NULL,
      subject      text NOT NULL,
      payload      text NOT NULL,
      PRIMARY KEY (seq, created_at)
    ) PARTITION BY RANGE (created_at)`);
    await q.query(`CREATE TABLE outbox_lease (
      lease_id     uuid PRIMARY KEY,
      aggregates   text[] COLLATE "C" NOT NULL,
      leased_until timestamptz NOT NULL
    )`);
    await secureTable(q, 'outbox', {
      comment: 'rmm:worker-only',
      service: 'INSERT',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'outbox_lease', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE, DELETE' });
    await q.query(`CREATE TABLE "outbox_default" PARTITION OF "outbox" DEFAULT`);
    await q.query(`ALTER TABLE "outbox_default" ENABLE ROW LEVEL SECURITY`);
    await q.query(
      `INSERT INTO rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days) VALUES ('outbox', 'created_at', 1, NULL, 3)`,
    );
    await q.query(`SELECT rmm_maintain_partitions_at(now())`);
    await q.query(`CREATE FUNCTION rmm_drop_empty_outbox_partitions() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp
    SET timezone = 'UTC'
    SET lock_timeout = '1s'
    AS $body$
    DECLARE
      child record;
      filled boolean;
      dropped integer := 0;
    BEGIN
      FOR child IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'outbox'::regclass AND c.relname ~ '_p[0-9]{8}$'
           AND to_timestamp(right(c.relname, 8), 'YYYYMMDD') < now() - interval '2 days'
      LOOP
        EXECUTE format('select exists (select from %I)', child.relname) INTO filled;
        CONTINUE WHEN filled;
        EXECUTE format('lock table outbox, %I in access exclusive mode', child.relname);
        EXECUTE format('select exists (select from %I)', child.relname) INTO filled;
        CONTINUE WHEN filled;
        EXECUTE format('drop table %I', child.relname);
        dropped := dropped + 1;
      END LOOP;
      RETURN dropped;
    END
    $body$`);
    await q.query(`REVOKE ALL ON FUNCTION rmm_drop_empty_outbox_partitions() FROM PUBLIC`);
    await q.query(`GRANT EXECUTE ON FUNCTION rmm_drop_empty_outbox_partitions() TO ${worker}`);
    await q.query(`COMMENT ON FUNCTION rmm_drop_empty_outbox_partitions() IS 'rmm:worker-function'`);
  }

  /** Stores a message longer than any stream does, so that a repeated delivery is recognized. */
  private async createInbox(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE inbox (
      consumer   text NOT NULL,
      message_id text NOT NULL,
      message_at timestamptz NOT NULL,
      handled_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (consumer, message_id, message_at)
    ) PARTITION BY RANGE (message_at)`);
    await secureTable(q, 'inbox', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT' });
    await q.query(`CREATE TABLE "inbox_default" PARTITION OF "inbox" DEFAULT`);
    await q.query(`ALTER TABLE "inbox_default" ENABLE ROW LEVEL SECURITY`);
    await q.query(
      `INSERT INTO rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days) VALUES ('inbox', 'message_at', 7, 30, 7)`,
    );
    await q.query(`SELECT rmm_maintain_partitions_at(now())`);
  }

  private async createDeadLetters(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE dead_letter_message (
      id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      consumer   text NOT NULL,
      message_id text NOT NULL,
      subject    text NOT NULL,
      payload    text NOT NULL,
      reason     text NOT NULL,
      deliveries integer NOT NULL,
      failed_at  timestamptz NOT NULL DEFAULT now(),
      UNIQUE (consumer, message_id)
    )`);
    await secureTable(q, 'dead_letter_message', {
      comment: 'rmm:worker-only',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
  }

  /** `id` is the hash of caller, tenant, method, path and key. */
  private async createIdempotencyRecords(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE idempotency_record (
      id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{64}$'),
      partner_id uuid,
      org_id uuid,
      body_hash text NOT NULL,
      response text NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      expires_at timestamptz(3) NOT NULL
    )`);
    await q.query(`CREATE INDEX idempotency_record_expires_idx ON idempotency_record (expires_at)`);
    await secureTable(q, 'idempotency_record', {
      rows: IDEMPOTENCY_RECORD,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, UPDATE, DELETE',
    });
  }

  /**
   * Times come from the database clock, in milliseconds as they are exported. With the shared lock an export waits until
   * no stamped change is uncommitted, so that it misses none (export.repository.ts).
   */
  private async createStampChange(q: QueryRunner): Promise<void> {
    await q.query(`CREATE FUNCTION stamp_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(hashtextextended('rmm.provisioning.export.' || new.partner_id, 0));
      new.updated_at := date_trunc('milliseconds', clock_timestamp());
      IF tg_op = 'INSERT' THEN
        new.created_at := new.updated_at;
      END IF;
      RETURN new;
    END $$`);
  }

  /** Partners as published by identity. */
  private async createPartners(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE partner (
      id uuid PRIMARY KEY,
      name text NOT NULL,
      slug text NOT NULL,
      status text NOT NULL CHECK (status IN ('pending', 'active', 'suspended', 'churned', 'offboarding')),
      max_organizations integer CHECK (max_organizations >= 0),
      max_devices integer CHECK (max_devices >= 0),
      timezone text NOT NULL,
      version bigint NOT NULL,
      updated_at timestamptz(3) NOT NULL DEFAULT now()
    )`);
    await secureTable(q, 'partner', { rows: PARTNER, service: 'SELECT', worker: 'SELECT, INSERT, UPDATE' });
  }

  /** Organizations, their external links, and copies of the security policies that identity owns. */
  private async createOrganizations(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE organization (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      name_key text NOT NULL,
      slug text NOT NULL CHECK (char_length(slug) BETWEEN 1 AND 110),
      slug_base text NOT NULL GENERATED ALWAYS AS (regexp_replace(slug, '-[0-9]+$', '')) STORED,
      type text NOT NULL DEFAULT 'customer' CHECK (type IN ('customer', 'internal')),
      status text NOT NULL DEFAULT 'active'
        CHECK (status IN ('active', 'trial', 'suspended', 'churned', 'offboarding')),
      settings jsonb NOT NULL DEFAULT '{}',
      contract_start timestamptz(3),
      contract_end timestamptz(3),
      billing_contact jsonb,
      is_first boolean NOT NULL DEFAULT false,
      version bigint NOT NULL DEFAULT 1,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      deleted_at timestamptz(3),
      CONSTRAINT organization_partner_key UNIQUE (id, partner_id)
    )`);
    await q.query(
      `CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON organization FOR EACH ROW EXECUTE FUNCTION stamp_change()`,
    );
    await q.query(
      `CREATE UNIQUE INDEX organization_slug_key ON organization (partner_id, slug) WHERE deleted_at IS NULL`,
    );
    await q.query(`CREATE UNIQUE INDEX organization_first_key ON organization (partner_id) WHERE is_first`);
    await q.query(`CREATE INDEX organization_name_idx ON organization (partner_id, name_key)`);
    await q.query(`CREATE INDEX organization_slug_base_idx ON organization (partner_id, slug_base)`);
    await q.query(`CREATE INDEX organization_newest_idx ON organization (partner_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX organization_oldest_idx ON organization (created_at, id)`);
    await q.query(`CREATE INDEX organization_export_idx ON organization (partner_id, id)`);
    await q.query(`CREATE INDEX organization_changes_idx ON organization (partner_id, updated_at, id)`);
    await secureTable(q, 'organization', {
      rows: ORGANIZATION_ITSELF,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT',
    });
    await q.query(`CREATE TABLE external_link (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      system text NOT NULL CHECK (char_length(system) BETWEEN 1 AND 64),
      external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 255),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT external_link_key UNIQUE (partner_id, system, external_id),
      CONSTRAINT external_link_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(`CREATE INDEX external_link_org_idx ON external_link (org_id)`);
    await secureTable(q, 'external_link', { rows: ORGANIZATION, service: 'SELECT, INSERT, UPDATE' });
    await q.query(`CREATE TABLE organization_security (
        org_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        security jsonb NOT NULL,
        version bigint NOT NULL,
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT organization_security_organization_fkey
          FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
      )`);
    await secureTable(q, 'organization_security', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT, UPDATE',
    });
  }

  private async createSites(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE site (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      name_key text NOT NULL,
      timezone text NOT NULL DEFAULT 'UTC',
      address jsonb,
      contact jsonb,
      settings jsonb NOT NULL DEFAULT '{}',
      version bigint NOT NULL DEFAULT 1,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      deleted_at timestamptz(3),
      CONSTRAINT site_organization_key UNIQUE (id, org_id),
      CONSTRAINT site_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(
      `CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON site FOR EACH ROW EXECUTE FUNCTION stamp_change()`,
    );
    await q.query(`CREATE UNIQUE INDEX site_name_key ON site (org_id, name_key) WHERE deleted_at IS NULL`);
    await q.query(`CREATE INDEX site_newest_idx ON site (org_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX site_partner_newest_idx ON site (partner_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX site_export_idx ON site (partner_id, id)`);
    await q.query(`CREATE INDEX site_changes_idx ON site (partner_id, updated_at, id)`);
    await secureTable(q, 'site', { rows: ORGANIZATION, service: 'SELECT, INSERT, UPDATE', worker: 'SELECT, INSERT' });
  }

  /** updated_at of a device changes with its exported columns only, not with heartbeats and metrics. */
  private async createDevices(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE device (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        site_id uuid,
        agent_id uuid NOT NULL DEFAULT gen_random_uuid(),
        agent_token_hash bytea CHECK (octet_length(agent_token_hash) = 32),
        enrollment_key_id uuid,
        enrollment_reservation_id uuid,
        hostname text NOT NULL CHECK (char_length(hostname) BETWEEN 1 AND 255),
        display_name text CHECK (char_length(display_name) BETWEEN 1 AND 255),
        os_type text NOT NULL CHECK (os_type IN ('windows', 'macos', 'linux')),
        os_version text,
        architecture text,
        device_role text,
        is_virtual boolean,
        virtualization_platform text,
        agent_version text,
        status text NOT NULL
          CHECK (status IN ('online', 'offline', 'maintenance', 'decommissioned', 'updating', 'pending')),
        tags text[] NOT NULL DEFAULT '{}',
        custom_fields jsonb NOT NULL DEFAULT '{}',
        hardware jsonb,
        metrics jsonb,
        last_seen_at timestamptz(3),
        enrolled_at timestamptz(3),
        version bigint NOT NULL DEFAULT 1,
        created_at timestamptz(3) NOT NULL,
        updated_at timestamptz(3) NOT NULL,
        CONSTRAINT device_agent_key UNIQUE (agent_id),
        CONSTRAINT device_agent_token_key UNIQUE (agent_token_hash),
        CONSTRAINT device_reservation_key UNIQUE (enrollment_reservation_id),
        CONSTRAINT device_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id),
        CONSTRAINT device_site_fkey FOREIGN KEY (site_id, org_id) REFERENCES site (id, org_id)
      )`);
    await q.query(`CREATE TRIGGER stamp_new BEFORE INSERT ON device FOR EACH ROW EXECUTE FUNCTION stamp_change()`);
    await q.query(`CREATE TRIGGER stamp_change BEFORE UPDATE ON device FOR EACH ROW
      WHEN ((old.hostname, old.display_name, old.site_id, old.os_type, old.os_version, old.architecture, old.device_role, old.is_virtual, old.virtualization_platform, old.tags, old.custom_fields, old.hardware) IS DISTINCT FROM (new.hostname, new.display_name, new.site_id, new.os_type, new.os_version, new.architecture, new.device_role, new.is_virtual, new.virtualization_platform, new.tags, new.custom_fields, new.hardware)) EXECUTE FUNCTION stamp_change()`);
    await q.query(`CREATE INDEX device_newest_idx ON device (org_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX device_partner_newest_idx ON device (partner_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX device_site_idx ON device (site_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX device_hostname_idx ON device (org_id, lower(hostname))`);
    await q.query(`CREATE INDEX device_online_idx ON device (last_seen_at) WHERE status = 'online'`);
    await secureTable(q, 'device', { rows: ORGANIZATION, service: 'SELECT, INSERT, UPDATE', worker: 'SELECT' });
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
