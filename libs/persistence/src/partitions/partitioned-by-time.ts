import type { QueryRunner } from 'typeorm';
import { quoteIdentifier as id } from '../rls/quote.js';
import { workerFunction } from '../rls/worker-function.js';
import { RULE_TABLE, upkeepAt, upkeepNow } from './upkeep-functions.js';

export interface TimePartitions {
  /** Created before with `partition by range (<column>)`; each unique key of it contains the column. */
  table: string;
  /** timestamptz, not null. */
  column: string;
  everyDays: number;
  /** A partition is dropped once all of it is older than this; kept for ever when absent. */
  keepDays?: number;
  aheadDays: number;
}

/**
 * Keeps a table in partitions of `everyDays` days, made ahead and dropped when old by PartitionMaintenanceJob. Rows whose time
 * lies outside of all partitions go to `<table>_default`, so that none is ever refused; they move once their partition
 * is made. Partitions carry no grants: rows are reached through the table alone, under its policies.
 */
export async function partitionedByTime(q: QueryRunner, options: TimePartitions): Promise<void> {
  const { table, column, everyDays, keepDays, aheadDays } = options;
  await ensureUpkeep(q);
  await q.query(`create table ${id(`${table}_default`)} partition of ${id(table)} default`);
  await q.query(`alter table ${id(`${table}_default`)} enable row level security`);
  await q.query(
    `insert into rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days) values ($1, $2, $3, $4, $5)`,
    [table, column, everyDays, keepDays ?? null, aheadDays],
  );
  await q.query('select rmm_partition_upkeep_at(now())');
}

/** Ends the upkeep of a table that is about to be dropped: for the `down` of its migration. */
export async function noLongerPartitioned(q: QueryRunner, table: string): Promise<void> {
  await q.query('delete from rmm_partition_rule where table_name = $1', [table]);
}

async function ensureUpkeep(q: QueryRunner): Promise<void> {
  const schema = id(await q.getCurrentSchema().then(String));
  await q.query(RULE_TABLE);
  await q.query(`comment on table rmm_partition_rule is 'rmm:worker-only'`);
  await q.query(upkeepAt(schema));
  await q.query(upkeepNow(schema));
  await q.query('revoke all on function rmm_partition_upkeep_at(timestamptz) from public');
  await workerFunction(q, 'rmm_partition_upkeep');
}
