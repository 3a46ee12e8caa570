import type { QueryRunner } from 'typeorm';
import { loginRoles } from '../migrations/login-roles.js';
import { quoteIdentifier as id, quoteLiteral } from './quote.js';
import { WORKER_FUNCTION } from './table-markers.js';

/**
 * Lets only the worker login call a SECURITY DEFINER function, for work that requires the owner, such as dropping a
 * partition. Called by the migration that created the function, which pins its `search_path`.
 * @param name  without arguments; the function takes none
 */
export async function workerFunction(q: QueryRunner, name: string): Promise<void> {
  const { worker } = await loginRoles(q);
  await q.query(`revoke all on function ${id(name)}() from public`);
  await q.query(`grant execute on function ${id(name)}() to ${id(worker)}`);
  await q.query(`comment on function ${id(name)}() is ${quoteLiteral(WORKER_FUNCTION)}`);
}
