import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Keeps partitions of deliveries that contain open rows, and such rows outside of all partitions, until these rows have a
 * final state: they were dropped unseen with the partition. `keep_while` is a condition on the rows of a table.
 */
export class KeepOpenDeliveries1795438180000 implements MigrationInterface {
  name = 'KeepOpenDeliveries1795438180000';

  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE rmm_partition_rule ADD COLUMN keep_while text');
    await q.query(`
      UPDATE rmm_partition_rule SET keep_while = $$status IN ('pending', 'retrying')$$ WHERE table_name = 'delivery'`);
    await q.query(maintainAt(await schemaOf(q), KEEPING));
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(maintainAt(await schemaOf(q), DROPPING));
    await q.query('ALTER TABLE rmm_partition_rule DROP COLUMN keep_while');
  }
}

/** Returns the quoted name of the schema. */
async function schemaOf(q: QueryRunner): Promise<string> {
  const rows = (await q.query('SELECT quote_ident(current_schema()) AS schema')) as { schema: string }[];
  return rows[0].schema;
}

interface Differences {
  beforeDrop: string;
  deleteOld: string;
}

/** The statements with `keep_while`, whose second look is under the lock that writers wait for, and the former ones. */
const KEEPING: Differences = {
  beforeDrop: `
            IF rule.keep_while IS NOT NULL THEN
              EXECUTE format('select exists (select from %I where %s)', child.relname, rule.keep_while) INTO kept;
              CONTINUE WHEN kept;
              EXECUTE format('lock table %I, %I in access exclusive mode', rule.table_name, child.relname);
              EXECUTE format('select exists (select from %I where %s)', child.relname, rule.keep_while) INTO kept;
              CONTINUE WHEN kept;
            END IF;`,
  deleteOld: `format('delete from %I where %I < $1 and (%s) is not true', fallback, rule.time_column,
                         coalesce(rule.keep_while, 'false'))`,
};
const DROPPING: Differences = {
  beforeDrop: '',
  deleteOld: `format('delete from %I where %I < $1', fallback, rule.time_column)`,
};

/** Creates partitions ahead and drops old ones as of a time. */
const maintainAt = (schema: string, { beforeDrop, deleteOld }: Differences): string => `
  CREATE OR REPLACE FUNCTION rmm_maintain_partitions_at(at timestamptz, OUT created integer, OUT dropped integer)
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
    kept boolean;
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
          IF lower_bound + make_interval(secs => seconds) <= at - make_interval(days => rule.keep_days) THEN${beforeDrop}
            EXECUTE format('drop table %I', child.relname);
            dropped := dropped + 1;
          END IF;
        END LOOP;
        EXECUTE ${deleteOld}
          USING at - make_interval(days => rule.keep_days);
      END IF;
    END LOOP;
  END
  $body$`;
