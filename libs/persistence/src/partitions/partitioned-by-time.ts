import type { QueryRunner } from 'typeorm';
import { quoteIdentifier as id } from '../rls/quote.js';
import { workerFunction } from '../rls/worker-function.js';

export interface TimePartitions {
  /** Created before with `partition by range (<column>)`; each unique key of it contains the column. */
  table: string;
  /** timestamptz, not null. */
  column: string;
  everyDays: number;
  /** A partition is dropped once all of it is older than this; never when absent. */
  keepDays?: number;
  aheadDays: number;
}

/**
 * Partitions a table by `everyDays` days; MaintainPartitionsJob creates partitions ahead and drops old ones. Rows whose
 * time is outside of all partitions are stored in `<table>_default`, so that none is refused; they move once their
 * partition is created. Partitions have no grants: rows are accessed through the table, under its policies.
 */
export async function partitionedByTime(q: QueryRunner, options: TimePartitions): Promise<void> {
  const { table, column, everyDays, keepDays, aheadDays } = options;
  await ensureMaintenance(q);
  await q.query(`create table ${id(`${table}_default`)} partition of ${id(table)} default`);
  await q.query(`alter table ${id(`${table}_default`)} enable row level security`);
  await q.query(
    `insert into rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days) values ($1, $2, $3, $4, $5)`,
    [table, column, everyDays, keepDays ?? null, aheadDays],
  );
  await q.query('select rmm_maintain_partitions_at(now())');
}

/** Ends the maintenance of a table that is about to be dropped, in the `down` of its migration. */
export async function noLongerPartitioned(q: QueryRunner, table: string): Promise<void> {
  await q.query('delete from rmm_partition_rule where table_name = $1', [table]);
}

async function ensureMaintenance(q: QueryRunner): Promise<void> {
  const schema = id(await q.getCurrentSchema().then(String));
  await q.query(RULE_TABLE);
  await q.query(`comment on table rmm_partition_rule is 'rmm:worker-only'`);
  await q.query(maintainAt(schema));
  await q.query(maintainNow(schema));
  await q.query('revoke all on function rmm_maintain_partitions_at(timestamptz) from public');
  await workerFunction(q, 'rmm_maintain_partitions');
}

/** The tables that are partitioned by time; only the owner and the functions below use it. */
const RULE_TABLE = `
  create table if not exists rmm_partition_rule (
    table_name  text primary key,
    time_column text not null,
    every_days  integer not null check (every_days between 1 and 366),
    keep_days   integer check (keep_days >= 1),
    ahead_days  integer not null check (ahead_days between 1 and 366)
  );
  alter table rmm_partition_rule enable row level security`;

/**
 * Creates and drops partitions as of a given time. Not granted to any login: only the wrapper below, whose time is now,
 * is. Partitions start at multiples of `every_days` since 1970, UTC, so that all replicas compute the same bounds.
 */
const maintainAt = (schema: string) => `
  create or replace function rmm_maintain_partitions_at(at timestamptz, out created integer, out dropped integer)
  language plpgsql
  set search_path = ${schema}, pg_temp
  set timezone = 'UTC'
  set lock_timeout = '3s'
  as $body$
  declare
    rule record;
    child record;
    seconds bigint;
    lower_bound timestamptz;
    upper_bound timestamptz;
    part text;
    fallback text;
    columns text;
    misplaced boolean;
  begin
    perform pg_advisory_xact_lock(hashtextextended('rmm.partitions.' || current_schema(), 0));
    created := 0;
    dropped := 0;
    for rule in select * from rmm_partition_rule order by table_name loop
      seconds := 86400 * rule.every_days;
      fallback := rule.table_name || '_default';
      lower_bound := to_timestamp(floor(extract(epoch from at) / seconds) * seconds);
      while lower_bound <= at + make_interval(days => rule.ahead_days) loop
        upper_bound := lower_bound + make_interval(secs => seconds);
        part := rule.table_name || '_p' || to_char(lower_bound, 'YYYYMMDD');
        if to_regclass(quote_ident(part)) is null then
          execute format('create table %I (like %I including defaults including constraints including generated including storage)',
                         part, rule.table_name);
          execute format('alter table %I enable row level security', part);
          execute format('select exists (select from %I where %I >= $1 and %I < $2)', fallback, rule.time_column, rule.time_column)
             into misplaced using lower_bound, upper_bound;
          if misplaced then
            select string_agg(quote_ident(attname), ', ' order by attnum) into columns
              from pg_attribute where attrelid = to_regclass(quote_ident(part)) and attnum > 0 and not attisdropped and attgenerated = '';
            execute format('with moved as (delete from %I where %I >= $1 and %I < $2 returning *) insert into %I (%s) select %s from moved',
                           fallback, rule.time_column, rule.time_column, part, columns, columns)
              using lower_bound, upper_bound;
          end if;
          execute format('alter table %I attach partition %I for values from (%L) to (%L)',
                         rule.table_name, part, lower_bound, upper_bound);
          created := created + 1;
        end if;
        lower_bound := upper_bound;
      end loop;
      if rule.keep_days is not null then
        for child in
          select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = to_regclass(quote_ident(rule.table_name)) and c.relname ~ '_p[0-9]{8}$'
        loop
          lower_bound := to_timestamp(right(child.relname, 8), 'YYYYMMDD');
          if lower_bound + make_interval(secs => seconds) <= at - make_interval(days => rule.keep_days) then
            execute format('drop table %I', child.relname);
            dropped := dropped + 1;
          end if;
        end loop;
        execute format('delete from %I where %I < $1', fallback, rule.time_column)
          using at - make_interval(days => rule.keep_days);
      end if;
    end loop;
  end
  $body$`;

/** The function the worker login calls: it runs as the owner, since only an owner may create and drop partitions. */
const maintainNow = (schema: string) => `
  create or replace function rmm_maintain_partitions(out created integer, out dropped integer)
  language sql security definer
  set search_path = ${schema}, pg_temp
  as 'select created, dropped from rmm_maintain_partitions_at(now())'`;
