import type { MigrationInterface, QueryRunner } from 'typeorm';

/** True for the platform login alone, which acts as the service login: no setting makes a service login see all tenants. */
const IS_PLATFORM_LOGIN = '(SELECT session_user <> current_user)';

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
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/** Rows of the table organization itself, whose id is the organization. */
const ORGANIZATION_ITSELF = ORGANIZATION.replace(/\borg_id(?=\)| =)/g, 'id');

/** Counters of a partner: its members of every scope may change them, by the records they create and delete. */
const PARTNER_COUNT = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)
    WHEN 'organization' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

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

/** Stored answers, read only by the caller who has the key; of the partner or organization in whose scope the caller was. */
const IDEMPOTENCY_RECORD = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)
    WHEN 'organization' THEN org_id = (SELECT nullif(current_setting('rmm.org_id', true), '')::uuid)
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/** Import runs of a partner: members with selected organizations see their own ones. */
const IMPORT_RUN = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid) AND (
      (SELECT current_setting('rmm.org_access', true)) = 'all'
      OR created_by = (SELECT nullif(current_setting('rmm.user_id', true), '')::uuid))
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/** Companies of a PSA: of partner callers who may access every organization. */
const WHOLE_PARTNER = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)
      AND (SELECT current_setting('rmm.org_access', true)) = 'all'
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/** Parts of an import run, which are read only with a run that the caller sees. */
const IMPORT_RUN_PART = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
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
    await this.createStampChange(q);
    await this.createPartners(q);
    await this.createOrganizations(q);
    await this.createPsaConnections(q);
    await this.createPsaSyncs(q);
    await this.createIdempotencyRecords(q);
    await this.createSites(q);
    await this.createContacts(q);
    await this.createImportRuns(q);
    await this.createDevices(q);
    await this.createDeviceReports(q);
    await this.createDeviceGroups(q);
    await this.createCounts(q);
    await this.createRestamps(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`
      DROP TABLE import_change, import_run_row, import_file_chunk, import_run, idempotency_record, export_restamp, organization_erasure_part, organization_erasure, site_count, organization_count, partner_count, device_group_member,
        device_group, device_posture_product, device_posture, device_software, device_network, device_disk, device_hardware,
        device_state, organization_security, device, contact_link, contact, site, external_link, psa_proposal, psa_sync, psa_connection, organization,
        partner_directory,
        dead_letter_message, inbox, rmm_partition_rule, outbox_lease, outbox_broadcast, outbox`);
    await q.query('DROP FUNCTION request_restamp, count_devices, count_organizations, add_devices');
    await q.query('DROP FUNCTION stamp_device_of_report, decommission_device_state, stamp_change');
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
    await q.query(`CREATE TABLE outbox_broadcast (
      seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      subject      text NOT NULL,
      payload      text NOT NULL,
      leased_until timestamptz
    )`);
    await secureTable(q, 'outbox', {
      comment: 'rmm:worker-only',
      service: 'INSERT',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'outbox_broadcast', {
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

  /** `id` is the hash of caller, tenant, method, path and key; a response that was too large is null. */
  private async createIdempotencyRecords(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE idempotency_record (
      id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{64}$'),
      partner_id uuid,
      org_id uuid,
      caller_id text NOT NULL,
      body_hash text NOT NULL,
      response text,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      expires_at timestamptz(3) NOT NULL,
      CONSTRAINT idempotency_record_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(`CREATE INDEX idempotency_record_expires_idx ON idempotency_record (expires_at)`);
    await q.query(`CREATE INDEX idempotency_record_caller_idx ON idempotency_record (caller_id, expires_at)`);
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
      ELSE
        new.updated_at := greatest(new.updated_at, old.updated_at); -- the clock may have been set back
      END IF;
      RETURN new;
    END $$`);
  }

  /** Partners as published by identity. */
  private async createPartners(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE partner_directory (
      partner_id uuid PRIMARY KEY,
      name text NOT NULL DEFAULT '',
      slug text NOT NULL DEFAULT '',
      status text NOT NULL,
      max_organizations integer DEFAULT 0,
      max_devices integer DEFAULT 0,
      enrollment_max_ttl_minutes integer DEFAULT 1,
      timezone text NOT NULL DEFAULT 'UTC',
      version bigint NOT NULL,
      updated_at timestamptz NOT NULL DEFAULT now()
    )`);
    await secureTable(q, 'partner_directory', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE' });
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
      erased_at timestamptz(3),
      import_undone boolean NOT NULL DEFAULT false,
      CONSTRAINT organization_partner_key UNIQUE (id, partner_id),
      CONSTRAINT organization_erased_check CHECK (erased_at IS NULL OR deleted_at IS NOT NULL)
    )`);
    await q.query(
      `CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON organization FOR EACH ROW EXECUTE FUNCTION stamp_change()`,
    );
    await q.query(
      `CREATE UNIQUE INDEX organization_slug_key ON organization (partner_id, slug) WHERE deleted_at IS NULL`,
    );
    await q.query(`CREATE UNIQUE INDEX organization_first_key ON organization (partner_id) WHERE is_first`);
    await q.query(`CREATE INDEX organization_name_idx ON organization (partner_id, name_key, id)`);
    await q.query(`CREATE INDEX organization_slug_base_idx ON organization (partner_id, slug_base)`);
    await q.query(`CREATE INDEX organization_newest_idx ON organization (partner_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX organization_oldest_idx ON organization (created_at, id)`);
    await q.query(`CREATE INDEX organization_export_idx ON organization (partner_id, id)`);
    await q.query(`CREATE INDEX organization_changes_idx ON organization (partner_id, updated_at, id)`);
    await q.query(
      `CREATE INDEX organization_deleted_idx ON organization (deleted_at) WHERE deleted_at IS NOT NULL AND erased_at IS NULL`,
    );
    await secureTable(q, 'organization', {
      rows: ORGANIZATION_ITSELF,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT, UPDATE',
    });
    await q.query(`CREATE TABLE organization_erasure (
      org_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      requested_at timestamptz(3) NOT NULL DEFAULT now(),
      started_at timestamptz(3),
      announced_at timestamptz(3),
      finished_at timestamptz(3),
      CONSTRAINT organization_erasure_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(
      `CREATE INDEX organization_erasure_waiting_idx ON organization_erasure (requested_at) WHERE started_at IS NULL`,
    );
    await q.query(
      `CREATE INDEX organization_erasure_announced_idx ON organization_erasure (announced_at) WHERE finished_at IS NULL`,
    );
    await secureTable(q, 'organization_erasure', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT',
      worker: 'SELECT, INSERT, UPDATE',
    });
    await q.query(`CREATE TABLE organization_erasure_part (
      org_id uuid NOT NULL REFERENCES organization_erasure (org_id),
      partner_id uuid NOT NULL,
      service text NOT NULL,
      erased jsonb NOT NULL DEFAULT '{}',
      finished_at timestamptz(3),
      PRIMARY KEY (org_id, service),
      CONSTRAINT organization_erasure_part_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(
      `CREATE INDEX organization_erasure_part_open_idx ON organization_erasure_part (service, org_id) WHERE finished_at IS NULL`,
    );
    await secureTable(q, 'organization_erasure_part', {
      rows: ORGANIZATION,
      service: 'SELECT',
      worker: 'SELECT, INSERT, UPDATE',
    });
    await q.query(`CREATE TABLE external_link (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      connection_id uuid,
      system text NOT NULL CHECK (char_length(system) BETWEEN 1 AND 64),
      external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 255),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT external_link_key UNIQUE NULLS NOT DISTINCT (partner_id, system, external_id, connection_id),
      CONSTRAINT external_link_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(`CREATE INDEX external_link_org_idx ON external_link (org_id)`);
    await secureTable(q, 'external_link', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, DELETE',
    });
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
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
  }

  /** PSA systems. The links of a connection go with it: without it they say nothing about an organization. */
  private async createPsaConnections(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE psa_connection (
      id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      org_id uuid,
      provider text NOT NULL CHECK (provider IN ('connectwise', 'autotask', 'servicenow', 'freshservice', 'zendesk',
        'halopsa', 'syncro', 'jira')),
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      name_key text NOT NULL,
      status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'error')),
      settings jsonb NOT NULL DEFAULT '{}',
      credentials jsonb NOT NULL DEFAULT '{}',
      secrets_sealed text,
      secret_names text[] NOT NULL DEFAULT '{}',
      created_by uuid,
      last_tested_at timestamptz(3),
      last_synced_at timestamptz(3),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      updated_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT psa_connection_partner_key UNIQUE (id, partner_id),
      CONSTRAINT psa_connection_secrets_check CHECK ((secrets_sealed IS NULL) = (secret_names = '{}')),
      CONSTRAINT psa_connection_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    for (const owner of ['org', 'partner']) {
      await q.query(
        `CREATE INDEX psa_connection_${owner}_idx ON psa_connection (${owner}_id, created_at DESC, id DESC)`,
      );
      await q.query(`CREATE INDEX psa_connection_${owner}_name_idx ON psa_connection (${owner}_id, name_key, id)`);
    }
    await q.query(`CREATE INDEX psa_connection_all_newest_idx ON psa_connection (created_at DESC, id DESC)`);
    await secureTable(q, 'psa_connection', {
      rows: { SELECT: DUAL_READ, INSERT: DUAL_WRITE, UPDATE: DUAL_WRITE, DELETE: DUAL_WRITE },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, UPDATE, DELETE',
    });
    await q.query(`ALTER TABLE external_link ADD CONSTRAINT external_link_connection_fkey
      FOREIGN KEY (connection_id, partner_id) REFERENCES psa_connection (id, partner_id) ON DELETE CASCADE`);
    await q.query(
      `CREATE INDEX external_link_connection_idx ON external_link (connection_id) WHERE connection_id IS NOT NULL`,
    );
  }

  /**
   * Scheduled syncs of PSA connections. A replica leases a due one, so that what a process leaves is done by another. A proposal
   * is a company that is not imported, or the new name of one that is.
   */
  private async createPsaSyncs(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE psa_sync (
      connection_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      enabled boolean NOT NULL,
      rule text NOT NULL CHECK (rule IN ('propose', 'import')),
      interval_minutes integer NOT NULL CHECK (interval_minutes BETWEEN 60 AND 10080),
      next_run_at timestamptz(3),
      lease_id uuid,
      leased_until timestamptz(3),
      failures integer NOT NULL DEFAULT 0,
      credential_failures integer NOT NULL DEFAULT 0,
      disabled_reason text CHECK (disabled_reason IN ('credentials')),
      last_run_at timestamptz(3),
      last_result jsonb,
      configured_by uuid,
      configured_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT psa_sync_enabled_check CHECK (enabled = (next_run_at IS NOT NULL)),
      CONSTRAINT psa_sync_connection_fkey
        FOREIGN KEY (connection_id, partner_id) REFERENCES psa_connection (id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX psa_sync_due_idx ON psa_sync (next_run_at) WHERE enabled`);
    await q.query(`CREATE INDEX psa_sync_partner_idx ON psa_sync (partner_id)`);
    await secureTable(q, 'psa_sync', {
      rows: WHOLE_PARTNER,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, UPDATE',
    });
    await q.query(`CREATE TABLE psa_proposal (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      connection_id uuid NOT NULL,
      kind text NOT NULL CHECK (kind IN ('company', 'rename')),
      status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'dismissed')),
      external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 255),
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      name_key text NOT NULL,
      company jsonb,
      org_id uuid,
      seen_by uuid NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT psa_proposal_key UNIQUE (connection_id, kind, external_id),
      CONSTRAINT psa_proposal_rename_check CHECK ((kind = 'rename') = (org_id IS NOT NULL)),
      CONSTRAINT psa_proposal_connection_fkey
        FOREIGN KEY (connection_id, partner_id) REFERENCES psa_connection (id, partner_id) ON DELETE CASCADE,
      CONSTRAINT psa_proposal_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(`CREATE INDEX psa_proposal_newest_idx ON psa_proposal (connection_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX psa_proposal_name_idx ON psa_proposal (connection_id, name_key, id)`);
    await q.query(`CREATE INDEX psa_proposal_partner_idx ON psa_proposal (partner_id)`);
    await q.query(`CREATE INDEX psa_proposal_org_idx ON psa_proposal (org_id) WHERE org_id IS NOT NULL`);
    await secureTable(q, 'psa_proposal', {
      rows: WHOLE_PARTNER,
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, DELETE',
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
    for (const owner of ['org', 'partner']) {
      await q.query(`CREATE INDEX site_${owner}_name_idx ON site (${owner}_id, name_key, id)`);
    }
    await q.query(`CREATE INDEX site_newest_idx ON site (org_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX site_partner_newest_idx ON site (partner_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX site_all_newest_idx ON site (created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX site_export_idx ON site (partner_id, id)`);
    await q.query(`CREATE INDEX site_count_idx ON site (partner_id, org_id) WHERE deleted_at IS NULL`);
    await q.query(`CREATE INDEX site_changes_idx ON site (partner_id, updated_at, id)`);
    await secureTable(q, 'site', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
  }

  private async createContacts(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE contact (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      site_id uuid,
      name text CHECK (char_length(name) BETWEEN 1 AND 255),
      name_key text NOT NULL DEFAULT '',
      email text CHECK (char_length(email) BETWEEN 1 AND 255),
      phone text CHECK (char_length(phone) BETWEEN 1 AND 64),
      mobile text CHECK (char_length(mobile) BETWEEN 1 AND 64),
      title text CHECK (char_length(title) BETWEEN 1 AND 255),
      roles text[] NOT NULL DEFAULT '{}',
      is_primary boolean NOT NULL DEFAULT false,
      notes text CHECK (char_length(notes) <= 4000),
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      CONSTRAINT contact_reachable_check CHECK (coalesce(name, email, phone, mobile) IS NOT NULL),
      CONSTRAINT contact_owner_key UNIQUE (id, org_id, partner_id),
      CONSTRAINT contact_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id),
      CONSTRAINT contact_site_fkey FOREIGN KEY (site_id, org_id) REFERENCES site (id, org_id)
    )`);
    await q.query(
      `CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON contact FOR EACH ROW EXECUTE FUNCTION stamp_change()`,
    );
    await q.query(`CREATE INDEX contact_newest_idx ON contact (org_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX contact_name_idx ON contact (org_id, name_key, id)`);
    await q.query(`CREATE INDEX contact_email_idx ON contact (org_id, email) WHERE email IS NOT NULL`);
    await q.query(`CREATE INDEX contact_site_idx ON contact (site_id) WHERE site_id IS NOT NULL`);
    await q.query(`CREATE INDEX contact_partner_idx ON contact (partner_id)`);
    await q.query(`CREATE UNIQUE INDEX contact_primary_key ON contact (org_id) WHERE is_primary`);
    await q.query(`CREATE TABLE contact_link (
      org_id uuid NOT NULL,
      system text NOT NULL CHECK (char_length(system) BETWEEN 1 AND 64),
      external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 255),
      contact_id uuid NOT NULL,
      partner_id uuid NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT contact_link_key PRIMARY KEY (org_id, system, external_id),
      CONSTRAINT contact_link_contact_fkey
        FOREIGN KEY (contact_id, org_id, partner_id) REFERENCES contact (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX contact_link_contact_idx ON contact_link (contact_id)`);
    await q.query(`CREATE INDEX contact_link_partner_idx ON contact_link (partner_id)`);
    for (const table of ['contact', 'contact_link']) {
      await secureTable(q, table, {
        rows: ORGANIZATION,
        service: 'SELECT, INSERT, UPDATE, DELETE',
        worker: 'SELECT, DELETE',
      });
    }
  }

  /**
   * Import runs: the rows of a file while it is imported, and a journal of what each run changed, by which it can be undone.
   * One replica works on a run at a time, under a lease.
   */
  private async createImportRuns(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE import_run (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      kind text NOT NULL CHECK (kind IN ('organizations', 'contacts')),
      source text NOT NULL CHECK (source IN ('rows', 'file', 'psa', 'psa_sync')),
      connection_id uuid,
      state text NOT NULL CHECK (state IN ('parsing', 'annotating', 'ready', 'committing', 'completed',
        'completed_with_errors', 'cancelled', 'failed', 'undoing', 'undone')),
      mode text CHECK (mode IN ('skip', 'update')),
      options jsonb NOT NULL DEFAULT '{}',
      file_name text CHECK (char_length(file_name) <= 255),
      file_bytes bigint,
      columns jsonb,
      mapping jsonb,
      total integer NOT NULL DEFAULT 0,
      done integer NOT NULL DEFAULT 0,
      imported integer NOT NULL DEFAULT 0,
      updated integer NOT NULL DEFAULT 0,
      skipped integer NOT NULL DEFAULT 0,
      failed integer NOT NULL DEFAULT 0,
      annotations jsonb NOT NULL DEFAULT '{}',
      undo_restored integer NOT NULL DEFAULT 0,
      undo_kept integer NOT NULL DEFAULT 0,
      progress jsonb NOT NULL DEFAULT '{}',
      failure jsonb,
      created_by uuid,
      acting jsonb,
      lease_id uuid,
      leased_until timestamptz(3),
      step_started_at timestamptz(3),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      updated_at timestamptz(3) NOT NULL DEFAULT now(),
      committed_at timestamptz(3),
      finished_at timestamptz(3),
      CONSTRAINT import_run_partner_key UNIQUE (id, partner_id)
    )`);
    await q.query(`CREATE INDEX import_run_partner_idx ON import_run (partner_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX import_run_all_newest_idx ON import_run (created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX import_run_active_idx ON import_run (leased_until NULLS FIRST)
      WHERE state IN ('parsing', 'annotating', 'committing', 'undoing')`);
    await q.query(`CREATE INDEX import_run_finished_idx ON import_run (updated_at)`);
    await secureTable(q, 'import_run', {
      rows: IMPORT_RUN,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, UPDATE, DELETE',
    });
    await q.query(`CREATE TABLE import_file_chunk (
      run_id uuid NOT NULL,
      partner_id uuid NOT NULL,
      part integer NOT NULL,
      bytes bytea NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      PRIMARY KEY (run_id, part)
    )`);
    await q.query(`CREATE INDEX import_file_chunk_partner_idx ON import_file_chunk (partner_id)`);
    await q.query(`CREATE INDEX import_file_chunk_age_idx ON import_file_chunk (created_at)`);
    await q.query(`CREATE TABLE import_run_row (
      run_id uuid NOT NULL,
      partner_id uuid NOT NULL,
      index integer NOT NULL,
      line integer NOT NULL,
      cells jsonb NOT NULL,
      position integer,
      annotation text,
      org_id uuid,
      match_id uuid,
      match_name text,
      reason text,
      result text CHECK (result IN ('imported', 'updated', 'skipped', 'failed')),
      code text,
      PRIMARY KEY (run_id, index),
      CONSTRAINT import_run_row_run_fkey
        FOREIGN KEY (run_id, partner_id) REFERENCES import_run (id, partner_id) ON DELETE CASCADE,
      CONSTRAINT import_run_row_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(`CREATE INDEX import_run_row_position_idx ON import_run_row (run_id, position, index)`);
    await q.query(`CREATE INDEX import_run_row_annotation_idx ON import_run_row (run_id, annotation, index)`);
    await q.query(`CREATE INDEX import_run_row_org_idx ON import_run_row (org_id) WHERE org_id IS NOT NULL`);
    await q.query(`CREATE INDEX import_run_row_partner_idx ON import_run_row (partner_id)`);
    for (const table of ['import_file_chunk', 'import_run_row']) {
      await secureTable(q, table, {
        rows: IMPORT_RUN_PART,
        service: 'SELECT, INSERT, UPDATE, DELETE',
        worker: 'SELECT, DELETE',
      });
    }
    await q.query(`CREATE TABLE import_change (
      run_id uuid NOT NULL,
      seq bigint GENERATED ALWAYS AS IDENTITY,
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      resource text NOT NULL CHECK (resource IN ('organization', 'organization_link', 'site', 'contact', 'contact_link')),
      action text NOT NULL CHECK (action IN ('create', 'update', 'reactivate')),
      record_id uuid NOT NULL,
      before jsonb,
      after jsonb,
      digest_before uuid,
      digest_after uuid,
      outcome text CHECK (outcome IN ('removed', 'restored', 'kept')),
      reason text,
      recorded_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (run_id, seq),
      CONSTRAINT import_change_run_fkey
        FOREIGN KEY (run_id, partner_id) REFERENCES import_run (id, partner_id) ON DELETE CASCADE,
      CONSTRAINT import_change_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await q.query(`CREATE INDEX import_change_open_idx ON import_change (run_id, org_id) WHERE outcome IS NULL`);
    await q.query(`CREATE INDEX import_change_org_idx ON import_change (org_id)`);
    await q.query(`CREATE INDEX import_change_partner_idx ON import_change (partner_id)`);
    await secureTable(q, 'import_change', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, UPDATE, DELETE',
    });
  }

  /**
   * Devices and the states that their heartbeats report, in two tables. updated_at of a device changes with its exported
   * columns, and when `stamp_device_of_report` or a re-stamp sets it.
   */
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
        hostname_key text NOT NULL GENERATED ALWAYS AS (lower(hostname)) STORED,
        display_name text CHECK (char_length(display_name) BETWEEN 1 AND 255),
        os_type text NOT NULL CHECK (os_type IN ('windows', 'macos', 'linux')),
        os_version text,
        architecture text,
        device_role text,
        is_virtual boolean,
        virtualization_platform text,
        tags text[] NOT NULL DEFAULT '{}',
        custom_fields jsonb NOT NULL DEFAULT '{}',
        enrolled_at timestamptz(3),
        enrolled_key timestamptz(3) NOT NULL GENERATED ALWAYS AS (coalesce(enrolled_at, created_at)) STORED,
        decommissioned_at timestamptz(3),
        version bigint NOT NULL DEFAULT 1,
        created_at timestamptz(3) NOT NULL,
        updated_at timestamptz(3) NOT NULL,
        CONSTRAINT device_agent_key UNIQUE (agent_id),
        CONSTRAINT device_agent_token_key UNIQUE (agent_token_hash),
        CONSTRAINT device_reservation_key UNIQUE (enrollment_reservation_id),
        CONSTRAINT device_owner_key UNIQUE (id, org_id, partner_id),
        CONSTRAINT device_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id),
        CONSTRAINT device_site_fkey FOREIGN KEY (site_id, org_id) REFERENCES site (id, org_id)
      )`);
    await q.query(`CREATE TRIGGER stamp_new BEFORE INSERT ON device FOR EACH ROW EXECUTE FUNCTION stamp_change()`);
    await q.query(`CREATE TRIGGER stamp_change BEFORE UPDATE ON device FOR EACH ROW
      WHEN ((old.hostname, old.display_name, old.site_id, old.os_type, old.os_version, old.architecture, old.device_role, old.is_virtual, old.virtualization_platform, old.tags, old.custom_fields, old.enrolled_at, old.decommissioned_at, old.updated_at) IS DISTINCT FROM (new.hostname, new.display_name, new.site_id, new.os_type, new.os_version, new.architecture, new.device_role, new.is_virtual, new.virtualization_platform, new.tags, new.custom_fields, new.enrolled_at, new.decommissioned_at, new.updated_at)) EXECUTE FUNCTION stamp_change()`);
    for (const owner of ['org', 'partner']) {
      await q.query(`CREATE INDEX device_${owner}_newest_idx ON device (${owner}_id, created_at DESC, id DESC)`);
      await q.query(`CREATE INDEX device_${owner}_hostname_idx ON device (${owner}_id, hostname_key, id)`);
      await q.query(`CREATE INDEX device_${owner}_enrolled_idx ON device (${owner}_id, enrolled_key, id)`);
      await q.query(`CREATE INDEX device_${owner}_os_idx ON device (${owner}_id, os_type, id)`);
    }
    await q.query(`CREATE INDEX device_site_idx ON device (site_id, created_at DESC, id DESC)`);
    // For the list of all tenants, which alone states the condition: for one tenant it would read the rows of others.
    await q.query(`CREATE INDEX device_newest_idx ON device (created_at DESC, id DESC) WHERE os_type <> ''`);
    // An organization determines its partner: without it the planner expects too few rows for callers with both.
    await q.query(`CREATE STATISTICS device_owner_stats (dependencies) ON org_id, partner_id FROM device`);
    await q.query(`CREATE INDEX device_export_idx ON device (partner_id, id)`);
    await q.query(`CREATE INDEX device_count_idx ON device (partner_id, org_id) WHERE decommissioned_at IS NULL`);
    await q.query(`CREATE INDEX device_changes_idx ON device (partner_id, updated_at, id)`);
    await secureTable(q, 'device', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, UPDATE, DELETE',
    });
    await this.createDeviceState(q);
  }

  /**
   * Written by each heartbeat: no index has a column that an ordinary heartbeat changes, and pages keep space for the next
   * version of a row, so that the updates are heap-only. `offline_check_at` is the deadline the offline sweep goes by; the
   * sweep moves it, heartbeats do not. `last_seen_hour`, by which lists are sorted, changes with one heartbeat in an hour.
   */
  private async createDeviceState(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE device_state (
        device_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        status text NOT NULL
          CHECK (status IN ('online', 'offline', 'maintenance', 'decommissioned', 'updating', 'pending')),
        agent_version text,
        last_seen_at timestamptz(3),
        last_seen_hour timestamptz(0) NOT NULL GENERATED ALWAYS AS
          (coalesce(date_bin('1 hour', last_seen_at, '2000-01-01 00:00:00+00'), '-infinity')) STORED,
        metrics jsonb,
        offline_check_at timestamptz(3),
        CONSTRAINT device_state_device_fkey
          FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE,
        CONSTRAINT device_state_check CHECK (status <> 'online' OR offline_check_at IS NOT NULL)
      ) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05)`);
    await q.query(`CREATE INDEX device_state_partner_idx ON device_state (partner_id, status, device_id)`);
    await q.query(`CREATE INDEX device_state_org_idx ON device_state (org_id, status, device_id)`);
    await q.query(`CREATE INDEX device_state_partner_seen_idx ON device_state (partner_id, last_seen_hour)`);
    await q.query(`CREATE INDEX device_state_org_seen_idx ON device_state (org_id, last_seen_hour)`);
    await q.query(
      `CREATE INDEX device_state_offline_idx ON device_state (offline_check_at) WHERE offline_check_at IS NOT NULL`,
    );
    await secureTable(q, 'device_state', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, UPDATE',
    });
    await q.query(`CREATE FUNCTION decommission_device_state() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE device_state SET status = 'decommissioned', offline_check_at = NULL WHERE device_id = new.id;
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER decommission_state AFTER UPDATE OF decommissioned_at ON device FOR EACH ROW
      WHEN (new.decommissioned_at IS NOT NULL AND old.decommissioned_at IS NULL)
      EXECUTE FUNCTION decommission_device_state()`);
  }

  /** Reports of agents other than heartbeats: one row per device, replaced as a whole, with an export stamp of its own. */
  private async createDeviceReports(q: QueryRunner): Promise<void> {
    const reports = {
      device_hardware: `hardware jsonb NOT NULL,
        serial_number text GENERATED ALWAYS AS (hardware ->> 'serialNumber') STORED`,
      device_disk: `disks jsonb NOT NULL CHECK (jsonb_typeof(disks) = 'array' AND jsonb_array_length(disks) <= 500)`,
      device_network: `adapters jsonb NOT NULL
          CHECK (jsonb_typeof(adapters) = 'array' AND jsonb_array_length(adapters) <= 500)`,
      device_software: `software jsonb NOT NULL
          CHECK (jsonb_typeof(software) = 'array' AND jsonb_array_length(software) <= 1000),
        total integer NOT NULL CHECK (total >= 0)`,
      device_posture: `collected_at timestamptz(3) NOT NULL,
        scan_duration_ms integer,
        identity jsonb,
        errors jsonb`,
    };
    for (const [table, columns] of Object.entries(reports)) {
      await q.query(`CREATE TABLE ${table} (
        device_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        ${columns},
        created_at timestamptz(3) NOT NULL,
        updated_at timestamptz(3) NOT NULL,
        CONSTRAINT ${table}_device_fkey
          FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
      )`);
      await q.query(
        `CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION stamp_change()`,
      );
      await q.query(`CREATE INDEX ${table}_export_idx ON ${table} (partner_id, device_id)`);
      await q.query(`CREATE INDEX ${table}_changes_idx ON ${table} (partner_id, updated_at, device_id)`);
      await q.query(`CREATE INDEX ${table}_org_idx ON ${table} (org_id)`);
      await secureTable(q, table, {
        rows: ORGANIZATION,
        service: 'SELECT, INSERT, UPDATE, DELETE',
        worker: 'SELECT, UPDATE',
      });
    }
    await q.query(`CREATE TABLE device_posture_product (
      device_id uuid NOT NULL REFERENCES device_posture (device_id) ON DELETE CASCADE,
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      category text NOT NULL,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      version text,
      status text NOT NULL CHECK (status IN ('active', 'installed', 'unknown')),
      service_name text,
      details jsonb,
      PRIMARY KEY (device_id, category, name),
      CONSTRAINT device_posture_product_device_fkey
        FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    for (const owner of ['org', 'partner']) {
      await q.query(
        `CREATE INDEX device_posture_product_${owner}_idx ON device_posture_product (${owner}_id, category, name)`,
      );
    }
    await secureTable(q, 'device_posture_product', { rows: ORGANIZATION, service: 'SELECT, INSERT, UPDATE, DELETE' });
    // The exported device has columns of its hardware and the ids of its groups: their changes are changes of the device.
    await q.query(`CREATE FUNCTION stamp_device_of_report() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE device SET updated_at = clock_timestamp()
       WHERE id = CASE tg_op WHEN 'DELETE' THEN old.device_id ELSE new.device_id END;
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER stamp_new_device AFTER INSERT OR DELETE ON device_hardware
      FOR EACH ROW EXECUTE FUNCTION stamp_device_of_report()`);
    await q.query(`CREATE TRIGGER stamp_device AFTER UPDATE ON device_hardware
      FOR EACH ROW WHEN (old.hardware IS DISTINCT FROM new.hardware) EXECUTE FUNCTION stamp_device_of_report()`);
  }

  private async createDeviceGroups(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE device_group (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      site_id uuid,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      name_key text NOT NULL,
      description text,
      version bigint NOT NULL DEFAULT 1,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      deleted_at timestamptz(3),
      CONSTRAINT device_group_owner_key UNIQUE (id, org_id, partner_id),
      CONSTRAINT device_group_organization_fkey FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id),
      CONSTRAINT device_group_site_fkey FOREIGN KEY (site_id, org_id) REFERENCES site (id, org_id)
    )`);
    await q.query(
      `CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE ON device_group FOR EACH ROW EXECUTE FUNCTION stamp_change()`,
    );
    await q.query(
      `CREATE UNIQUE INDEX device_group_name_key ON device_group (org_id, name_key) WHERE deleted_at IS NULL`,
    );
    for (const owner of ['org', 'partner']) {
      await q.query(`CREATE INDEX device_group_${owner}_idx ON device_group (${owner}_id, created_at DESC, id DESC)`);
      await q.query(`CREATE INDEX device_group_${owner}_name_idx ON device_group (${owner}_id, name_key, id)`);
    }
    await q.query(`CREATE INDEX device_group_all_newest_idx ON device_group (created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX device_group_site_idx ON device_group (site_id)`);
    await q.query(`CREATE INDEX device_group_changes_idx ON device_group (partner_id, updated_at, id)`);
    await secureTable(q, 'device_group', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, UPDATE, DELETE',
    });
    await q.query(`CREATE TABLE device_group_member (
      group_id uuid NOT NULL,
      device_id uuid NOT NULL,
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      PRIMARY KEY (device_id, group_id),
      CONSTRAINT device_group_member_group_fkey
        FOREIGN KEY (group_id, org_id, partner_id) REFERENCES device_group (id, org_id, partner_id) ON DELETE CASCADE,
      CONSTRAINT device_group_member_device_fkey
        FOREIGN KEY (device_id, org_id, partner_id) REFERENCES device (id, org_id, partner_id) ON DELETE CASCADE
    )`);
    await q.query(`CREATE INDEX device_group_member_group_idx ON device_group_member (group_id, device_id)`);
    await q.query(`CREATE TRIGGER stamp_device AFTER INSERT OR DELETE ON device_group_member
      FOR EACH ROW EXECUTE FUNCTION stamp_device_of_report()`);
    await secureTable(q, 'device_group_member', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, DELETE',
      worker: 'SELECT',
    });
  }

  /**
   * Counters change in the transaction of the records they count; statement triggers maintain them, so that no code path
   * can forget to. The row of the partner is locked first, always: two transactions cannot wait for each other. Devices of a
   * deleted organization do not count for its partner.
   */
  private async createCounts(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE partner_count (
      partner_id uuid PRIMARY KEY,
      organizations integer NOT NULL DEFAULT 0,
      devices integer NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50)`);
    await secureTable(q, 'partner_count', {
      rows: PARTNER_COUNT,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT, UPDATE',
    });
    await q.query(`CREATE TABLE organization_count (
      org_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      devices integer NOT NULL DEFAULT 0,
      CONSTRAINT organization_count_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id) ON DELETE CASCADE
    ) WITH (fillfactor = 50)`);
    await q.query(`CREATE INDEX organization_count_partner_idx ON organization_count (partner_id)`);
    await q.query(`CREATE TABLE site_count (
      site_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      org_id uuid NOT NULL,
      devices integer NOT NULL DEFAULT 0,
      CONSTRAINT site_count_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id) ON DELETE CASCADE,
      CONSTRAINT site_count_site_fkey FOREIGN KEY (site_id, org_id) REFERENCES site (id, org_id) ON DELETE CASCADE
    ) WITH (fillfactor = 50)`);
    for (const table of ['organization_count', 'site_count']) {
      await secureTable(q, table, {
        rows: ORGANIZATION,
        service: 'SELECT, INSERT, UPDATE',
        worker: 'SELECT, INSERT, UPDATE',
      });
    }
    await this.countOrganizations(q);
    await this.countDevices(q);
  }

  private async countOrganizations(q: QueryRunner): Promise<void> {
    await q.query(`CREATE FUNCTION count_organizations() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE
      change record;
    BEGIN
      IF tg_op = 'INSERT' THEN
        INSERT INTO partner_count (partner_id, organizations)
        SELECT partner_id, count(*)::integer FROM added WHERE deleted_at IS NULL GROUP BY 1 ORDER BY 1
        ON CONFLICT (partner_id) DO UPDATE SET organizations = partner_count.organizations + excluded.organizations;
        RETURN NULL;
      END IF;
      FOR change IN
        SELECT n.id, n.partner_id, CASE WHEN n.deleted_at IS NULL THEN 1 ELSE -1 END AS sign
          FROM added n JOIN removed o ON o.id = n.id
         WHERE (n.deleted_at IS NULL) <> (o.deleted_at IS NULL) ORDER BY n.partner_id, n.id
      LOOP
        PERFORM FROM partner_count WHERE partner_id = change.partner_id FOR NO KEY UPDATE;
        UPDATE partner_count
           SET organizations = organizations + change.sign,
               devices = devices + change.sign
                 * coalesce((SELECT c.devices FROM organization_count c WHERE c.org_id = change.id), 0)
         WHERE partner_id = change.partner_id;
      END LOOP;
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER count_added AFTER INSERT ON organization
      REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_organizations()`);
    await q.query(`CREATE TRIGGER count_changed AFTER UPDATE ON organization
      REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_organizations()`);
  }

  private async countDevices(q: QueryRunner): Promise<void> {
    await q.query(`CREATE FUNCTION add_devices(partner uuid, org uuid, site uuid, number integer) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      PERFORM FROM partner_count WHERE partner_id = partner FOR NO KEY UPDATE;
      UPDATE partner_count SET devices = devices + number
       WHERE partner_id = partner AND EXISTS (SELECT FROM organization o WHERE o.id = org AND o.deleted_at IS NULL);
      INSERT INTO organization_count AS c (org_id, partner_id, devices) VALUES (org, partner, number)
      ON CONFLICT (org_id) DO UPDATE SET devices = c.devices + excluded.devices;
      IF site IS NOT NULL THEN
        INSERT INTO site_count AS c (site_id, partner_id, org_id, devices) VALUES (site, partner, org, number)
        ON CONFLICT (site_id) DO UPDATE SET devices = c.devices + excluded.devices;
      END IF;
    END $$`);
    await q.query(`CREATE FUNCTION count_devices() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      IF tg_op = 'INSERT' THEN
        PERFORM add_devices(partner_id, org_id, site_id, number) FROM (
          SELECT partner_id, org_id, site_id, count(*)::integer AS number FROM added WHERE decommissioned_at IS NULL
           GROUP BY 1, 2, 3 ORDER BY 1, 2, 3) AS changed;
      ELSIF tg_op = 'DELETE' THEN
        PERFORM add_devices(partner_id, org_id, site_id, -number) FROM (
          SELECT partner_id, org_id, site_id, count(*)::integer AS number FROM removed WHERE decommissioned_at IS NULL
           GROUP BY 1, 2, 3 ORDER BY 1, 2, 3) AS changed;
      ELSE
        PERFORM add_devices(partner_id, org_id, site_id, number) FROM (
          SELECT partner_id, org_id, site_id, sum(number)::integer AS number FROM (
            SELECT partner_id, org_id, site_id, 1 AS number FROM added WHERE decommissioned_at IS NULL
             UNION ALL
            SELECT partner_id, org_id, site_id, -1 FROM removed WHERE decommissioned_at IS NULL) AS each
           GROUP BY 1, 2, 3 HAVING sum(number) <> 0 ORDER BY 1, 2, 3) AS changed;
      END IF;
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER count_added AFTER INSERT ON device
      REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_devices()`);
    await q.query(`CREATE TRIGGER count_changed AFTER UPDATE ON device
      REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_devices()`);
    await q.query(`CREATE TRIGGER count_removed AFTER DELETE ON device
      REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_devices()`);
  }

  /**
   * Requests to stamp the records of an organization that is visible again, so that incremental exports show them. A job
   * stamps them in batches after the commit.
   */
  private async createRestamps(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE export_restamp (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      org_id uuid NOT NULL,
      partner_id uuid NOT NULL,
      started_at timestamptz(3),
      CONSTRAINT export_restamp_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id)
    )`);
    await secureTable(q, 'export_restamp', {
      comment: 'rmm:worker-only',
      service: 'INSERT',
      worker: 'SELECT, UPDATE, DELETE',
    });
    await q.query(`CREATE FUNCTION request_restamp() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO export_restamp (org_id, partner_id) VALUES (new.id, new.partner_id);
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER request_restamp AFTER UPDATE ON organization FOR EACH ROW
      WHEN (new.deleted_at IS NULL AND new.status IN ('active', 'trial')
            AND NOT (old.deleted_at IS NULL AND old.status IN ('active', 'trial')))
      EXECUTE FUNCTION request_restamp()`);
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
