import type { Pool, PoolClient } from 'pg';
import { DatabaseConnectionLost } from './database-errors.js';

/** A client of the pool. @throws DatabaseConnectionLost when none can be had in time */
export async function acquire(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw new DatabaseConnectionLost(error);
  }
}

/** Ends a transaction that failed and gives its client back, or destroys it when it can no longer be trusted. */
export async function rollBackAndRelease(client: PoolClient, failure: unknown): Promise<void> {
  if (failure instanceof DatabaseConnectionLost) return client.release(true);
  try {
    await client.query('ROLLBACK');
  } catch {
    return client.release(true);
  }
  client.release();
}

/** Gives a client back after a single statement failed. @returns the failure, to be thrown */
export function releaseAfter(client: PoolClient, failure: unknown): unknown {
  client.release(failure instanceof DatabaseConnectionLost);
  return failure;
}

/** Sends several queries with one write, so that the server wakes once for all of them. */
export function inOnePacket(client: PoolClient, send: () => Promise<unknown>[]): Promise<unknown> {
  const { stream } = client.connection;
  stream.cork();
  try {
    return Promise.all(send());
  } finally {
    stream.uncork();
  }
}
