import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates every table of the service: audit entries leave through an outbox, and nothing else is stored. */
export class InitialSchema1767225600000 implements MigrationInterface {
  name = 'InitialSchema1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await createPartitionMaintenance(q);
    await createMessagingTables(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP TABLE dead_letter_message, inbox, outbox_lease, outbox_broadcast, outbox, rmm_partition_rule');
    await q.query(
      'DROP FUNCTION rmm_drop_empty_outbox_partitions, rmm_maintain_partitions, rmm_maintain_partitions_at',
    );
  }
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
  /** The reason for no tenant policies: `rmm:worker-only` or `rmm:global`. */
  comment?: string;
  /** The commands granted to the service login. */
  service?: string;
  /** The commands granted to the worker login, on all rows. */
  worker?: string;
}

/** Enables row-level security and creates the policies and grants of one table. */
async function secureTable(q: QueryRunner, table: string, { comment, ...granted }: TableSecurity): Promise<void> {
  const roles = await loginRoles(q);
  await q.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`);
  await q.query(`REVOKE ALL ON ${table} FROM PUBLIC, ${roles.service}, ${roles.worker}`);
  if (comment) await q.query(`COMMENT ON TABLE ${table} IS '${comment}'`);
  for (const login of ['service', 'worker'] as const) {
    const commands = granted[login]?.split(', ') ?? [];
    for (const command of COMMANDS) {
      if (!commands.includes(command)) continue;
      const using = command === 'INSERT' ? '' : 'USING (true)';
      const check = command === 'INSERT' || command === 'UPDATE' ? 'WITH CHECK (true)' : '';
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
