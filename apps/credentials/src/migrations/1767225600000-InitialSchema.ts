import type { MigrationInterface, QueryRunner } from 'typeorm';

/** True for the platform login alone, which acts as the service login: no setting makes a service login see all tenants. */
const IS_PLATFORM_LOGIN = '(SELECT session_user <> current_user)';

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
const PARTNER = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)
    WHEN 'organization' THEN false
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/** Creates every table of the service. */
export class InitialSchema1767225600000 implements MigrationInterface {
  name = 'InitialSchema1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await createPartitionMaintenance(q);
    await createMessagingTables(q);
    await createDirectories(q);
    await createOrganizationErasures(q);
    await createServicePrincipals(q);
    await createApiKeys(q);
    await createEnrollmentKeys(q);
    await createPartnerPrincipals(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`
      DROP TABLE key_usage_batch, api_key_usage, api_key, service_principal, partner_principal_key, partner_principal,
        enrollment_reservation, enrollment_key, organization_erasure, partner_directory, organization_directory,
        dead_letter_message, inbox, outbox_lease, outbox_broadcast, outbox, rmm_partition_rule`);
    await q.query(
      'DROP FUNCTION rmm_drop_empty_outbox_partitions, rmm_maintain_partitions, rmm_maintain_partitions_at',
    );
  }
}

/** Creates the copies of organizations and partners that other services publish. */
async function createDirectories(q: QueryRunner): Promise<void> {
  await q.query(`
      CREATE TABLE organization_directory (
        org_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        name text NOT NULL DEFAULT '',
        slug text NOT NULL DEFAULT '',
        status text NOT NULL,
        deleted boolean NOT NULL DEFAULT false,
        version bigint NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
  await q.query('CREATE UNIQUE INDEX organization_directory_partner ON organization_directory (partner_id, org_id)');
  await secureTable(q, 'organization_directory', {
    rows: ORGANIZATION,
    service: 'SELECT',
    worker: 'SELECT, INSERT, UPDATE',
  });
  await q.query(`
      CREATE TABLE partner_directory (
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

/** An organization determines its partner: without it the planner expects too few rows for callers with both. */
async function createOwnerStatistics(q: QueryRunner, table: string): Promise<void> {
  await q.query(`CREATE STATISTICS ${table}_owner_stats (dependencies) ON org_id, partner_id FROM ${table}`);
}

/** Creates the erasures of organizations, finished ones included. */
async function createOrganizationErasures(q: QueryRunner): Promise<void> {
  await q.query(`
      CREATE TABLE organization_erasure (
        org_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        erased jsonb NOT NULL DEFAULT '{}',
        started_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz,
        reported_at timestamptz,
        FOREIGN KEY (partner_id, org_id) REFERENCES organization_directory (partner_id, org_id)
      )`);
  await q.query(
    'CREATE INDEX organization_erasure_open ON organization_erasure (started_at) WHERE finished_at IS NULL',
  );
  await q.query(
    'CREATE INDEX organization_erasure_unreported ON organization_erasure (finished_at) WHERE reported_at IS NULL',
  );
  await secureTable(q, 'organization_erasure', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE' });
}

/** Creates service principals. */
async function createServicePrincipals(q: QueryRunner): Promise<void> {
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
        UNIQUE (id, org_id),
        FOREIGN KEY (org_id, partner_id) REFERENCES organization_directory (org_id, partner_id)
      )`);
  await q.query('CREATE INDEX service_principal_newest ON service_principal (org_id, created_at DESC, id DESC)');
  await q.query('CREATE INDEX service_principal_partner ON service_principal (partner_id, created_at DESC, id DESC)');
  await q.query('CREATE INDEX service_principal_owner ON service_principal (partner_id, org_id)');
  await createOwnerStatistics(q, 'service_principal');
  await q.query('CREATE INDEX service_principal_of_all ON service_principal (created_at DESC, id DESC)');
  await secureTable(q, 'service_principal', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT, UPDATE',
    worker: 'SELECT, DELETE',
  });
}

/** Creates API keys and their daily usage. */
async function createApiKeys(q: QueryRunner): Promise<void> {
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
        updated_at timestamptz NOT NULL DEFAULT now(),
        generation integer NOT NULL DEFAULT 1,
        source_cidrs text[] NOT NULL DEFAULT '{}',
        expiry_reminders boolean NOT NULL DEFAULT true,
        reminded_at timestamptz,
        previous_key_hash bytea,
        previous_valid_until timestamptz,
        CONSTRAINT api_key_principal_check CHECK ((source = 'service_principal') = (principal_id IS NOT NULL)),
        CONSTRAINT api_key_principal_fkey FOREIGN KEY (principal_id, org_id) REFERENCES service_principal (id, org_id),
        FOREIGN KEY (org_id, partner_id) REFERENCES organization_directory (org_id, partner_id)
      )`);
  await q.query('CREATE INDEX api_key_newest ON api_key (org_id, created_at DESC, id DESC)');
  await q.query(`CREATE INDEX api_key_active ON api_key (org_id) WHERE status = 'active'`);
  await q.query('CREATE INDEX api_key_partner ON api_key (partner_id, created_at DESC, id DESC)');
  await q.query('CREATE INDEX api_key_owner ON api_key (partner_id, org_id)');
  await createOwnerStatistics(q, 'api_key');
  await q.query('CREATE INDEX api_key_of_all ON api_key (created_at DESC, id DESC)');
  await q.query('CREATE UNIQUE INDEX api_key_previous_hash ON api_key (previous_key_hash)');
  await q.query(`CREATE INDEX api_key_expiring ON api_key (expires_at) WHERE status = 'active'`);
  await q.query(
    'CREATE INDEX api_key_overlapping ON api_key (previous_valid_until) WHERE previous_valid_until IS NOT NULL',
  );
  await q.query(
    'CREATE INDEX api_key_of_principal ON api_key (principal_id, created_at DESC) WHERE principal_id IS NOT NULL',
  );
  // whatever races, a service principal never has two active keys
  await q.query(`CREATE UNIQUE INDEX api_key_active_of_principal ON api_key (principal_id) WHERE status = 'active'`);
  await secureTable(q, 'api_key', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT, UPDATE',
    worker: 'SELECT, UPDATE, DELETE',
  });
  await q.query(`
      CREATE TABLE api_key_usage (
        key_id uuid NOT NULL REFERENCES api_key (id) ON DELETE CASCADE,
        partner_id uuid NOT NULL,
        org_id uuid NOT NULL,
        day date NOT NULL,
        count bigint NOT NULL,
        PRIMARY KEY (key_id, day),
        FOREIGN KEY (org_id, partner_id) REFERENCES organization_directory (org_id, partner_id)
      )`);
  await q.query('CREATE INDEX api_key_usage_day ON api_key_usage (day)');
  await secureTable(q, 'api_key_usage', {
    rows: ORGANIZATION,
    service: 'SELECT',
    worker: 'SELECT, INSERT, UPDATE, DELETE',
  });
  // a batch that was counted but not acknowledged is sent again
  await q.query(`
      CREATE TABLE key_usage_batch (
        batch_id uuid PRIMARY KEY,
        received_at timestamptz NOT NULL DEFAULT now()
      )`);
  await q.query('CREATE INDEX key_usage_batch_received ON key_usage_batch (received_at)');
  await secureTable(q, 'key_usage_batch', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, DELETE' });
}

/** Creates enrollment keys and the reservations of their uses. */
async function createEnrollmentKeys(q: QueryRunner): Promise<void> {
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
        UNIQUE (id, partner_id),
        FOREIGN KEY (org_id, partner_id) REFERENCES organization_directory (org_id, partner_id)
      )`);
  await q.query('CREATE INDEX enrollment_key_newest ON enrollment_key (org_id, created_at DESC, id DESC)');
  await q.query('CREATE INDEX enrollment_key_partner ON enrollment_key (partner_id, created_at DESC, id DESC)');
  await q.query('CREATE INDEX enrollment_key_owner ON enrollment_key (partner_id, org_id)');
  await createOwnerStatistics(q, 'enrollment_key');
  await q.query('CREATE INDEX enrollment_key_of_all ON enrollment_key (created_at DESC, id DESC)');
  await q.query('CREATE INDEX enrollment_key_site ON enrollment_key (site_id) WHERE site_id IS NOT NULL');
  await secureTable(q, 'enrollment_key', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT, UPDATE, DELETE',
    worker: 'SELECT, UPDATE, DELETE',
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
  await q.query(
    'CREATE INDEX enrollment_reservation_settled ON enrollment_reservation (settled_at) WHERE settled_at IS NOT NULL',
  );
  await secureTable(q, 'enrollment_reservation', {
    comment: 'rmm:worker-only',
    worker: 'SELECT, INSERT, UPDATE, DELETE',
  });
}

/** Creates partner principals and their keys. */
async function createPartnerPrincipals(q: QueryRunner): Promise<void> {
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
  await q.query('CREATE INDEX partner_principal_newest ON partner_principal (partner_id, created_at DESC, id DESC)');
  await q.query('CREATE INDEX partner_principal_of_all ON partner_principal (created_at DESC, id DESC)');
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
  await secureTable(q, 'partner_principal', {
    rows: PARTNER,
    service: 'SELECT, INSERT, UPDATE',
    worker: 'SELECT, UPDATE',
  });
  await secureTable(q, 'partner_principal_key', {
    rows: PARTNER,
    service: 'SELECT, INSERT, UPDATE',
    worker: 'SELECT, UPDATE',
  });
}

/** Creates the rules of tables partitioned by time and the functions that apply them. */
async function createPartitionMaintenance(q: QueryRunner): Promise<void> {
  const { worker, schema } = await loginRoles(q);
  await q.query(`
      CREATE TABLE rmm_partition_rule (
        table_name  text PRIMARY KEY,
        time_column text NOT NULL,
        every_days  integer NOT NULL CHECK (every_days BETWEEN 1 AND 366),
        keep_days   integer CHECK (keep_days >= 1),
        ahead_days  integer NOT NULL CHECK (ahead_days BETWEEN 1 AND 366)
      )`);
  await q.query('ALTER TABLE rmm_partition_rule ENABLE ROW LEVEL SECURITY');
  await q.query(`COMMENT ON TABLE rmm_partition_rule IS 'rmm:worker-only'`);
  await q.query(`
      CREATE FUNCTION rmm_maintain_partitions_at(at timestamptz, OUT created integer, OUT dropped integer)
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
  await q.query(`
      CREATE FUNCTION rmm_maintain_partitions(OUT created integer, OUT dropped integer)
      LANGUAGE sql SECURITY DEFINER
      SET search_path = ${schema}, pg_temp
      AS 'select created, dropped from rmm_maintain_partitions_at(now())'`);
  await q.query('REVOKE ALL ON FUNCTION rmm_maintain_partitions_at(timestamptz) FROM PUBLIC');
  await q.query('REVOKE ALL ON FUNCTION rmm_maintain_partitions() FROM PUBLIC');
  await q.query(`GRANT EXECUTE ON FUNCTION rmm_maintain_partitions() TO ${worker}`);
  await q.query(`COMMENT ON FUNCTION rmm_maintain_partitions() IS 'rmm:worker-function'`);
}

/** Creates outbox, inbox and dead letters. */
async function createMessagingTables(q: QueryRunner): Promise<void> {
  const { worker, schema } = await loginRoles(q);
  await q.query(`
      CREATE TABLE outbox (
        seq          bigint GENERATED ALWAYS AS IDENTITY,
        created_at   timestamptz NOT NULL DEFAULT now(),
        id           uuid NOT NULL,
        aggregate_id text COLLATE "C" NOT NULL,
        subject      text NOT NULL,
        payload      text NOT NULL,
        PRIMARY KEY (seq, created_at)
      ) PARTITION BY RANGE (created_at)`);
  await q.query(`
      CREATE TABLE outbox_lease (
        lease_id     uuid PRIMARY KEY,
        aggregates   text[] COLLATE "C" NOT NULL,
        leased_until timestamptz NOT NULL
      )`);
  await q.query(`
      CREATE TABLE outbox_broadcast (
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
  await q.query(`
      CREATE TABLE outbox_default PARTITION OF outbox DEFAULT
`);
  await q.query('ALTER TABLE outbox_default ENABLE ROW LEVEL SECURITY');
  await q.query(
    `INSERT INTO rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days) VALUES ('outbox', 'created_at', 1, NULL, 3)`,
  );
  await q.query(`
      CREATE TABLE inbox (
        consumer   text NOT NULL,
        message_id text NOT NULL,
        message_at timestamptz NOT NULL,
        handled_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (consumer, message_id, message_at)
      ) PARTITION BY RANGE (message_at)`);
  await secureTable(q, 'inbox', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT' });
  await q.query(`
      CREATE TABLE inbox_default PARTITION OF inbox DEFAULT
`);
  await q.query('ALTER TABLE inbox_default ENABLE ROW LEVEL SECURITY');
  await q.query(
    `INSERT INTO rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days) VALUES ('inbox', 'message_at', 7, 30, 7)`,
  );
  await q.query('SELECT rmm_maintain_partitions_at(now())');
  await q.query(`
      CREATE FUNCTION rmm_drop_empty_outbox_partitions() RETURNS integer
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
  await q.query('REVOKE ALL ON FUNCTION rmm_drop_empty_outbox_partitions() FROM PUBLIC');
  await q.query(`GRANT EXECUTE ON FUNCTION rmm_drop_empty_outbox_partitions() TO ${worker}`);
  await q.query(`COMMENT ON FUNCTION rmm_drop_empty_outbox_partitions() IS 'rmm:worker-function'`);
  await q.query(`
      CREATE TABLE dead_letter_message (
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

type Command = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
const COMMANDS: readonly Command[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

interface TableSecurity {
  /** The rows the service login may use, by command; every row of a table with a `comment`. */
  rows?: string | Record<Command, string>;
  /** The reason for no tenant policies: `rmm:worker-only` or `rmm:global`. */
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
