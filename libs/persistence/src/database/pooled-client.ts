import type { Pool, PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { DatabaseConnectionLost, fromDriver } from './database.errors.js';
import { isOutdatedPlan } from './prepared-statements.js';

/** Takes a client from the pool. @throws DatabaseConnectionLost when none is available in time */
export async function acquire(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw new DatabaseConnectionLost(error);
  }
}

/**
 * Runs one query on a client of the pool. With callbacks, since the promises in between take a fifth of the time of a short
 * query.
 * @throws DatabaseConnectionLost when no client is available in time; what `fromDriver` returns
 */
export function queryOnce<Row extends QueryResultRow>(pool: Pool, query: QueryConfig): Promise<QueryResult<Row>> {
  return new Promise((resolve, reject) => {
    pool.connect((unavailable, client, release) => {
      if (!client) return reject(new DatabaseConnectionLost(unavailable));
      client.query<Row>(query, (error: Error | null, result) => {
        if (!error) {
          release();
          return resolve(result);
        }
        const failure = fromDriver(error) as Error;
        // Other prepared statements of the client may be outdated too.
        release(failure instanceof DatabaseConnectionLost || isOutdatedPlan(failure));
        reject(failure);
      });
    });
  });
}

/** Rolls a failed transaction back and releases its client, or destroys the client when its state is unknown. */
export async function rollBackAndRelease(client: PoolClient, failure: unknown): Promise<void> {
  if (failure instanceof DatabaseConnectionLost) return client.release(true);
  try {
    await client.query('ROLLBACK');
  } catch {
    return client.release(true);
  }
  client.release();
}

/** Releases a client after a single statement failed. @returns the failure, to be thrown */
export function releaseAfter(client: PoolClient, failure: unknown): unknown {
  client.release(failure instanceof DatabaseConnectionLost);
  return failure;
}

/** Sends several queries with one write, so that they take one round trip. @returns their results, in order */
export function inOnePacket<T>(client: PoolClient, send: () => Promise<T>[]): Promise<T[]> {
  const { stream } = client.connection;
  stream.cork();
  try {
    return allSettledOrThrow(send());
  } finally {
    stream.uncork();
  }
}

/**
 * Sends the queries of the running tick with one write: those that a `Promise.all` starts do not wait for each other, and the
 * system call takes longer than a small query.
 */
export function joinWritesOfTick(client: PoolClient): void {
  const { stream } = client.connection;
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Waits for all, so that the client is idle when the first failure is thrown. */
async function allSettledOrThrow<T>(promises: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<T>).value);
}
