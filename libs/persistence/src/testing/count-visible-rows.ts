import pg from 'pg';
import { sessionOptions } from '../database/pool-options.js';
import { quoteIdentifier } from '../rls/quote.js';

/** Counts the rows of a table that a login sees with settings it made by itself, as an injected statement could. */
export async function countVisibleRows(
  url: string,
  schema: string,
  table: string,
  settings: Readonly<Record<string, string>>,
): Promise<number> {
  const options = sessionOptions({ search_path: schema, ...settings });
  const client = new pg.Client({ connectionString: url, options });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from ${quoteIdentifier(table)}`,
    );
    return rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}
