import type { Pool } from 'pg';
import { quoteIdentifier } from '../rls/quote.js';

interface SettingRow {
  name: string;
  setting: string;
  role: string;
  database: string;
}

/**
 * Lists the settings that the sessions behind a pooler lack: a pooler in transaction mode passes no parameters of a client on,
 * so they must be the defaults of the role.
 * @returns statements that set them; empty when nothing is missing
 */
export async function poolerProblems(
  pool: Pick<Pool, 'query'>,
  settings: Readonly<Record<string, string>>,
): Promise<string[]> {
  const { rows } = await pool.query<SettingRow>(SETTINGS, [Object.keys(settings)]);
  return rows
    .filter(({ name, setting }) => setting !== settings[name])
    .map(({ name, setting, role, database }) => {
      const target = `${quoteIdentifier(role)} IN DATABASE ${quoteIdentifier(database)}`;
      return `${name} is '${setting}' behind the pooler: ALTER ROLE ${target} SET ${name} = '${settings[name]}', and RECONNECT the pooler`;
    });
}

const SETTINGS = `
  select lower(name) as name, setting, current_user as role, current_database() as database
    from pg_settings where lower(name) = any ($1) order by name`;
