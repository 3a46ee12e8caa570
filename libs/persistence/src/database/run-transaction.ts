import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool, PoolClient } from 'pg';
import { fromDriver, fromTypeOrm, TransactionWasAborted } from './database-errors.js';
import { acquire, rollBackAndRelease } from './pooled-client.js';
import type { Transaction } from './transaction.js';

interface OpenTransaction {
  pool: Pool;
  transaction: Transaction;
  outer: OpenTransaction | undefined;
}

const current = new AsyncLocalStorage<OpenTransaction>();

/**
 * BEGIN (with whatever `begin` sends in the same tick), the work, COMMIT; ROLLBACK on any failure.
 * @throws what the work threw; DatabaseConnectionLost; DatabaseTooBusy; TransactionWasAborted
 */
export async function runTransaction<Tx extends Transaction, T>(
  pool: Pool,
  begin: (client: PoolClient) => Promise<unknown>,
  open: (client: PoolClient) => Tx,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  assertNotInside(pool);
  const client = await acquire(pool);
  const transaction = open(client);
  let result: T;
  try {
    await driver(begin(client));
    const inside: OpenTransaction = { pool, transaction, outer: current.getStore() };
    result = await current.run(inside, () => work(transaction));
    transaction.close();
    const { command } = await driver(client.query('COMMIT'));
    if (command !== 'COMMIT') throw new TransactionWasAborted();
  } catch (error) {
    transaction.close();
    const failure = fromTypeOrm(error);
    await rollBackAndRelease(client, failure);
    throw failure;
  }
  client.release();
  await transaction.runAfterCommit();
  return result;
}

/**
 * A second connection of the same pool, wanted while one is held, is a deadlock as soon as all callers do it.
 * @throws Error a mistake in the code, not a condition of the system
 */
export function assertNotInside(pool: Pool): void {
  for (let at = current.getStore(); at !== undefined; at = at.outer) {
    if (at.pool === pool && at.transaction.isOpen) {
      throw new Error('A transaction of this database is already open here: use the `tx` that was handed to the work');
    }
  }
}

async function driver<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    throw fromDriver(error);
  }
}
