import type { SqlExecutor } from '../database/sql-executor.js';

/** To be finished below. */
export async function catalogueProblems(executor: SqlExecutor, schema: string): Promise<string[]> {
  const rows = await executor.query<{ table: string }>(
    `select c.relname as "table" from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind in ('r', 'p') and not c.relispartition and not c.relrowsecurity`,
    [schema],
  );
  return rows.map(({ table }) => `${table}: row-level security is not enabled`);
}
