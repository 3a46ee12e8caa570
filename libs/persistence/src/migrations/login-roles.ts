import type { SqlExecutor } from '../database/sql-executor.js';

/** The names of a service's two runtime logins. They differ per installation. */
export interface LoginRoles {
  service: string;
  worker: string;
}

/**
 * The role names the runner put on the migration connection as `rmm.service_role` and `rmm.worker_role`.
 * @throws Error on any other connection
 */
export async function loginRoles(q: Pick<SqlExecutor, 'query'>): Promise<LoginRoles> {
  const [row] = await q.query<Partial<LoginRoles>>(
    `select nullif(current_setting('rmm.service_role', true), '') as service,
            nullif(current_setting('rmm.worker_role', true), '') as worker`,
  );
  if (!row?.service || !row.worker) {
    throw new Error('rmm.service_role and rmm.worker_role are not set: run migrations by runMigrations()');
  }
  return { service: row.service, worker: row.worker };
}

/** The login a connection URL names. @throws Error when it names none */
export function roleOf(url: string): string {
  const role = decodeURIComponent(new URL(url).username);
  if (role === '') throw new Error('A database URL must name its login');
  return role;
}
