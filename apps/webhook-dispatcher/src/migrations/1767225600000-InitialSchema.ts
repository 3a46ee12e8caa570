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

/** Days of deliveries that are kept; `set_delivery_retention` changes it at start to the configured number. */
const KEEP_DAYS = 30;
const PARTITIONS = 1_024;

/** Creates every table of the service. */
export class InitialSchema1767225600000 implements MigrationInterface {
  name = 'InitialSchema1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await createPartitionMaintenance(q);
    await createMessagingTables(q);
    await createTenantDirectories(q);
    await createOrganizationErasures(q);
    await createWebhooks(q);
    await createDeletedWebhooks(q);
    await createRecoveries(q);
    await createDeliveries(q);
    await createAttempts(q);
    await createDeadLetters(q);
    await createReplicas(q);
    await createRetentionFunction(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`
      DROP TABLE delivery_partition, dispatcher_replica, organization_erasure, webhook_recovery, deleted_webhook, request_shape, attempt, dead_letter, event_body, delivery,
        webhook_counter, webhook, partner_directory, organization_directory, dead_letter_message, inbox, outbox_lease, outbox_broadcast, outbox,
        rmm_partition_rule`);
    await q.query(`
      DROP FUNCTION set_delivery_retention, webhook_changed, rmm_drop_empty_outbox_partitions, rmm_maintain_partitions,
        rmm_maintain_partitions_at`);
  }
}

/** Creates the copies of the organizations that provisioning publishes, and of the partners that identity does. */
async function createTenantDirectories(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE organization_directory (
      org_id     uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      name       text NOT NULL DEFAULT '',
      slug       text NOT NULL DEFAULT '',
      status     text NOT NULL,
      deleted    boolean NOT NULL DEFAULT false,
      version    bigint NOT NULL,
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
      partner_id                 uuid PRIMARY KEY,
      name                       text NOT NULL DEFAULT '',
      slug                       text NOT NULL DEFAULT '',
      status                     text NOT NULL,
      max_organizations          integer DEFAULT 0,
      max_devices                integer DEFAULT 0,
      enrollment_max_ttl_minutes integer DEFAULT 1,
      timezone                   text NOT NULL DEFAULT 'UTC',
      version                    bigint NOT NULL,
      updated_at                 timestamptz NOT NULL DEFAULT now()
    )`);
  await secureTable(q, 'partner_directory', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE' });
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

/**
 * Creates webhooks and their counters. `changed_xid` is the transaction that last wrote the row; with it a replica loads
 * everything it has not read yet and misses nothing. The counters are a table of their own, since the sender updates
 * them all the time and webhooks rarely change.
 */
async function createWebhooks(q: QueryRunner): Promise<void> {
  const { worker } = await loginRoles(q);
  await q.query(`
    CREATE TABLE webhook (
      id                     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      partner_id             uuid NOT NULL,
      org_id                 uuid NOT NULL,
      name                   text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      url_sealed             text NOT NULL,
      secret_sealed          text,
      previous_secret_sealed text,
      secret_overlap_until   timestamptz,
      standard_webhooks      boolean NOT NULL DEFAULT false,
      headers                jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(headers) = 'array'),
      events                 text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
      status                 text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'error')),
      retry_policy           jsonb,
      created_by             uuid,
      created_at             timestamptz NOT NULL DEFAULT now(),
      updated_at             timestamptz NOT NULL DEFAULT now(),
      changed_xid            xid8 NOT NULL DEFAULT pg_current_xact_id(),
      CONSTRAINT webhook_overlap_is_whole CHECK ((previous_secret_sealed IS NULL) = (secret_overlap_until IS NULL)),
      FOREIGN KEY (partner_id, org_id) REFERENCES organization_directory (partner_id, org_id)
    )`);
  await q.query('CREATE INDEX webhook_by_org ON webhook (org_id, created_at DESC, id DESC)');
  await q.query('CREATE INDEX webhook_by_change ON webhook (changed_xid)');
  await q.query(`
    CREATE FUNCTION webhook_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $body$
      BEGIN
        new.changed_xid := pg_current_xact_id();
        RETURN new;
      END
      $body$`);
  await q.query(`
    CREATE TRIGGER webhook_changed BEFORE INSERT OR UPDATE ON webhook
      FOR EACH ROW EXECUTE FUNCTION webhook_changed()`);
  await secureTable(q, 'webhook', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT, UPDATE, DELETE',
    worker: 'SELECT, DELETE',
  });
  // The worker may set a webhook to failed; everything else is changed by its tenant.
  await q.query(`GRANT UPDATE (status, updated_at) ON webhook TO ${worker}`);
  await q.query(`CREATE POLICY worker_update ON webhook FOR UPDATE TO ${worker} USING (true) WITH CHECK (true)`);
  await q.query(`
    CREATE TABLE webhook_counter (
      webhook_id       uuid PRIMARY KEY,
      partner_id       uuid NOT NULL,
      org_id           uuid NOT NULL,
      total            bigint NOT NULL DEFAULT 0,
      delivered        bigint NOT NULL DEFAULT 0,
      failed           bigint NOT NULL DEFAULT 0,
      retrying         bigint NOT NULL DEFAULT 0,
      last_delivery_at timestamptz,
      last_success_at  timestamptz,
      failing_since    timestamptz,
      mail_due_for     timestamptz,
      FOREIGN KEY (partner_id, org_id) REFERENCES organization_directory (partner_id, org_id)
    ) WITH (fillfactor = 50)`);
  await q.query(`
    CREATE INDEX webhook_counter_failing ON webhook_counter (failing_since) WHERE failing_since IS NOT NULL`);
  await q.query('CREATE INDEX webhook_counter_mail ON webhook_counter (mail_due_for) WHERE mail_due_for IS NOT NULL');
  await secureTable(q, 'webhook_counter', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT, UPDATE, DELETE',
    worker: 'SELECT, UPDATE, DELETE',
  });
}

/** Creates the list of deleted webhooks whose history is not purged yet. */
async function createDeletedWebhooks(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE deleted_webhook (
      webhook_id uuid PRIMARY KEY,
      partner_id uuid NOT NULL,
      org_id     uuid NOT NULL,
      deleted_at timestamptz NOT NULL DEFAULT now(),
      FOREIGN KEY (partner_id, org_id) REFERENCES organization_directory (partner_id, org_id)
    )`);
  await q.query('CREATE INDEX deleted_webhook_by_org ON deleted_webhook (org_id)');
  await secureTable(q, 'deleted_webhook', { rows: ORGANIZATION, service: 'SELECT, INSERT', worker: 'SELECT, DELETE' });
}

/** Creates the recoveries that a job has not finished: the failed deliveries after one position up to another. */
async function createRecoveries(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE webhook_recovery (
      id               uuid PRIMARY KEY,
      webhook_id       uuid NOT NULL,
      partner_id       uuid NOT NULL,
      org_id           uuid NOT NULL,
      requested_at     timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
      after_created_at timestamptz NOT NULL,
      after_id         uuid NOT NULL,
      until_created_at timestamptz NOT NULL,
      until_id         uuid NOT NULL,
      FOREIGN KEY (partner_id, org_id) REFERENCES organization_directory (partner_id, org_id)
    )`);
  await q.query('CREATE INDEX webhook_recovery_by_webhook ON webhook_recovery (webhook_id)');
  await secureTable(q, 'webhook_recovery', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT',
    worker: 'SELECT, UPDATE, DELETE',
  });
}

/**
 * Creates deliveries, which are history and queue in one, and the texts that are sent. `delivery_open` stays small, since
 * a delivery leaves it when it ends; deliveries that end at once are never in it. `revision` is 0 until the row is
 * updated, so that inserted and updated rows can be distinguished.
 */
async function createDeliveries(q: QueryRunner): Promise<void> {
  const { service } = await loginRoles(q);
  await q.query(`
    CREATE TABLE delivery (
      id               uuid NOT NULL,
      created_at       timestamptz NOT NULL,
      partner_id       uuid NOT NULL,
      org_id           uuid NOT NULL,
      webhook_id       uuid NOT NULL,
      event_type       text NOT NULL,
      event_id         text NOT NULL,
      status           text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'retrying', 'delivered', 'failed')),
      attempt          integer NOT NULL DEFAULT 0,
      max_attempts     integer NOT NULL,
      due_at           timestamptz NOT NULL DEFAULT now(),
      revision         smallint NOT NULL DEFAULT 0,
      repeat_of        uuid,
      started_at       timestamptz,
      request_shape    uuid,
      response_status  integer,
      response_headers text,
      response_body    text,
      response_time_ms integer,
      error_message    text,
      delivered_at     timestamptz,
      PRIMARY KEY (id, created_at)
    ) PARTITION BY RANGE (created_at)`);
  await q.query('CREATE INDEX delivery_by_webhook ON delivery (webhook_id, created_at DESC, id DESC)');
  await q.query(`
    CREATE INDEX delivery_open ON delivery (webhook_id, due_at, id) WHERE status IN ('pending', 'retrying')`);
  // A recovery reads these two instead of the history; deliveries that succeed are in neither.
  await q.query(`CREATE INDEX delivery_failed ON delivery (webhook_id, created_at, id) WHERE status = 'failed'`);
  await q.query('CREATE INDEX delivery_repeats ON delivery (webhook_id, event_id) WHERE repeat_of IS NOT NULL');
  await secureTable(q, 'delivery', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT',
    worker: 'SELECT, INSERT, UPDATE, DELETE',
  });
  // A recovery brings retries forward.
  await q.query(`GRANT UPDATE (due_at) ON delivery TO ${service}`);
  await partitionByDay(q, 'delivery', 'created_at');
  await q.query(`
    CREATE TABLE event_body (
      event_id   text NOT NULL,
      created_at timestamptz NOT NULL,
      partner_id uuid NOT NULL,
      org_id     uuid NOT NULL,
      body       text NOT NULL,
      PRIMARY KEY (event_id, org_id, created_at)
    ) PARTITION BY RANGE (created_at)`);
  await secureTable(q, 'event_body', {
    rows: ORGANIZATION,
    service: 'SELECT, INSERT',
    worker: 'SELECT, INSERT, DELETE',
  });
  await partitionByDay(q, 'event_body', 'created_at');
}

/**
 * Creates the attempts that were followed by another, and the shapes of their requests. The last attempt is stored in
 * its delivery, so that a delivery that succeeds at once needs no other row.
 */
async function createAttempts(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE attempt (
      delivery_id      uuid NOT NULL,
      created_at       timestamptz NOT NULL,
      attempt          integer NOT NULL,
      partner_id       uuid NOT NULL,
      org_id           uuid NOT NULL,
      started_at       timestamptz NOT NULL,
      duration_ms      integer,
      request_shape    uuid,
      response_status  integer,
      response_headers text,
      response_body    text,
      error_message    text,
      PRIMARY KEY (delivery_id, created_at, attempt)
    ) PARTITION BY RANGE (created_at)`);
  await secureTable(q, 'attempt', { rows: ORGANIZATION, service: 'SELECT', worker: 'SELECT, INSERT, DELETE' });
  await partitionByDay(q, 'attempt', 'created_at');
  await q.query(`
    CREATE TABLE request_shape (
      id            uuid PRIMARY KEY,
      webhook_id    uuid NOT NULL,
      partner_id    uuid NOT NULL,
      org_id        uuid NOT NULL,
      names         text[] NOT NULL,
      headers       jsonb NOT NULL,
      first_used_at timestamptz NOT NULL DEFAULT now()
    )`);
  await q.query('CREATE INDEX request_shape_by_webhook ON request_shape (webhook_id)');
  await secureTable(q, 'request_shape', { rows: ORGANIZATION, service: 'SELECT', worker: 'SELECT, INSERT, DELETE' });
}

/** Creates the deliveries whose retries are used up. */
async function createDeadLetters(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE dead_letter (
      delivery_id     uuid NOT NULL,
      failed_at       timestamptz NOT NULL,
      created_at      timestamptz NOT NULL,
      partner_id      uuid NOT NULL,
      org_id          uuid NOT NULL,
      webhook_id      uuid NOT NULL,
      event_type      text NOT NULL,
      event_id        text NOT NULL,
      attempts        integer NOT NULL,
      response_status integer,
      error_message   text,
      PRIMARY KEY (delivery_id, failed_at)
    ) PARTITION BY RANGE (failed_at)`);
  await q.query('CREATE INDEX dead_letter_by_webhook ON dead_letter (webhook_id, failed_at DESC)');
  await q.query('CREATE INDEX dead_letter_by_org ON dead_letter (org_id, failed_at DESC)');
  await q.query('CREATE INDEX dead_letter_by_partner ON dead_letter (partner_id, failed_at DESC, delivery_id DESC)');
  await q.query('CREATE INDEX dead_letter_by_time ON dead_letter (failed_at DESC, delivery_id DESC)');
  await secureTable(q, 'dead_letter', {
    rows: ORGANIZATION,
    service: 'SELECT, DELETE',
    worker: 'SELECT, INSERT, DELETE',
  });
  await partitionByDay(q, 'dead_letter', 'failed_at');
}

/**
 * Creates the running replicas and the partitions of organizations, each of which one replica owns. `epoch` changes with
 * the owner, so that a former owner is recognized.
 */
async function createReplicas(q: QueryRunner): Promise<void> {
  await q.query(`
    CREATE TABLE dispatcher_replica (
      id           uuid PRIMARY KEY,
      session_key  integer GENERATED ALWAYS AS IDENTITY,
      started_at   timestamptz NOT NULL DEFAULT now(),
      heartbeat_at timestamptz NOT NULL DEFAULT now(),
      is_leaving   boolean NOT NULL DEFAULT false
    )`);
  await secureTable(q, 'dispatcher_replica', {
    comment: 'rmm:worker-only',
    worker: 'SELECT, INSERT, UPDATE, DELETE',
  });
  await q.query(`
    CREATE TABLE delivery_partition (
      partition smallint PRIMARY KEY CHECK (partition BETWEEN 0 AND ${PARTITIONS - 1}),
      owner     uuid,
      epoch     integer NOT NULL DEFAULT 0
    )`);
  await q.query(`INSERT INTO delivery_partition (partition) SELECT generate_series(0, ${PARTITIONS - 1})`);
  await secureTable(q, 'delivery_partition', { comment: 'rmm:worker-only', worker: 'SELECT, UPDATE' });
}

/** Creates the function with which the worker sets the retention, since only the owner may change partition rules. */
async function createRetentionFunction(q: QueryRunner): Promise<void> {
  const { worker, schema } = await loginRoles(q);
  await q.query(`
    CREATE FUNCTION set_delivery_retention(days integer) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path = ${schema}, pg_temp
    AS $body$
      UPDATE rmm_partition_rule SET keep_days = days
       WHERE table_name IN ('delivery', 'event_body', 'dead_letter', 'attempt') AND days BETWEEN 8 AND 365
    $body$`);
  await q.query('REVOKE ALL ON FUNCTION set_delivery_retention(integer) FROM PUBLIC');
  await q.query(`GRANT EXECUTE ON FUNCTION set_delivery_retention(integer) TO ${worker}`);
  await q.query(`COMMENT ON FUNCTION set_delivery_retention(integer) IS 'rmm:worker-function'`);
}

/** Partitions a table by the days of a column. */
async function partitionByDay(q: QueryRunner, table: string, column: string): Promise<void> {
  await q.query(`CREATE TABLE ${table}_default PARTITION OF ${table} DEFAULT`);
  await q.query(`ALTER TABLE ${table}_default ENABLE ROW LEVEL SECURITY`);
  await q.query(`
    INSERT INTO rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days)
    VALUES ('${table}', '${column}', 1, ${KEEP_DAYS}, 3)`);
  await q.query('SELECT rmm_maintain_partitions_at(now())');
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
