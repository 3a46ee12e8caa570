import type { TenantTransaction } from '@rmm/persistence';

/** Rows from which a plan that is good for them is worth the time to make it. */
const MANY_ROWS = 100;

/**
 * Has the statements of a transaction that writes many rows planned again, by the sizes of the tables now, and not by what the
 * statistics know of the partner: its rows may be newer than these. Foreign keys are checked by plans that a connection
 * keeps: one for few rows, or for a partner without rows, reads all organizations of the partner for each row.
 */
export async function replanStatements(tx: TenantTransaction, rows: readonly unknown[]): Promise<void> {
  if (rows.length < MANY_ROWS) return;
  await Promise.all([tx.query('DISCARD PLANS'), tx.query('SET LOCAL plan_cache_mode = force_generic_plan')]);
}
