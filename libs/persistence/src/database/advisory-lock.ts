import type { SqlExecutor } from './sql-executor.js';

/**
 * Returns SQL that takes the advisory lock of a name until the transaction ends, and is false when another transaction
 * has it. @param name  SQL of a text: `:name`
 */
export const tryLockSql = (name: string): string => `pg_try_advisory_xact_lock(hashtextextended(${name}, 0))`;

const TRY_LOCK = `SELECT ${tryLockSql(':name')} AS locked`;

/** Takes the lock until the transaction ends. @returns false when another transaction has it */
export async function tryLock(tx: SqlExecutor, name: string): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>(TRY_LOCK, { name });
  return row?.locked === true;
}
