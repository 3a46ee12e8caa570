import type { SqlExecutor } from '../database/sql-executor.js';

const TABLES = `
  SELECT c.relname AS name FROM pg_class c
    JOIN pg_attribute o ON o.attrelid = c.oid AND o.attname = 'org_id' AND NOT o.attisdropped
   WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
   ORDER BY 1`;

/** Lists the tables whose rows may belong to an organization; each is erased with the organization, or kept for a reason. */
export async function tablesOfOrganizations(executor: SqlExecutor, schema: string): Promise<string[]> {
  return (await executor.query<{ name: string }>(TABLES, [schema])).map(({ name }) => name);
}
