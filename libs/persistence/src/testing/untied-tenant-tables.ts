import type { SqlExecutor } from '../database/sql-executor.js';

/** Tables with both columns of a tenant, and no foreign key that contains both; partitions are those of their table. */
const UNTIED = `
  SELECT c.relname AS name
    FROM pg_class c
    JOIN pg_attribute p ON p.attrelid = c.oid AND p.attname = 'partner_id' AND NOT p.attisdropped
    JOIN pg_attribute o ON o.attrelid = c.oid AND o.attname = 'org_id' AND NOT o.attisdropped
   WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
     AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'
                        AND f.conkey @> ARRAY[p.attnum, o.attnum])
   ORDER BY 1`;

/** The table that says which partner owns an organization, in services that do not own organizations. */
const DIRECTORY = 'organization_directory';

/**
 * Lists the tables whose rows may name an organization and a partner that does not own it: a policy for callers of an
 * organization compares the organization alone, so that a key has to tie the two.
 * @param exempt  tables that are not tied, each for a reason that the spec gives
 * @returns names; empty when there is no problem
 */
export async function untiedTenantTables(
  executor: SqlExecutor,
  schema: string,
  exempt: readonly string[] = [],
): Promise<string[]> {
  const rows = await executor.query<{ name: string }>(UNTIED, [schema]);
  return rows.map(({ name }) => name).filter((name) => name !== DIRECTORY && !exempt.includes(name));
}
