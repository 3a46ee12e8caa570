import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { acquire, releaseAfter } from '../database/pooled-client.js';
import { fromPrepared, prepared } from '../database/prepared-statements.js';
import { assertNotInside, runTransaction } from '../database/run-transaction.js';
import type { SqlExecutor } from '../database/sql-executor.js';
import { WorkerTransaction } from './worker-transaction.js';

/** The second login: work without a signed-in caller that crosses tenants. @see ARCHITECTURE.md, rule 2 */
export class WorkerDatabase implements SqlExecutor {
  constructor(
    private readonly pool: Pool,
    private readonly dataSource: DataSource,
  ) {}

  /** One statement in its own transaction. @throws DatabaseConnectionLost, DatabaseTooBusy, pg's DatabaseError */
  async query<Row = Record<string, unknown>>(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    assertNotInside(this.pool);
    const client = await acquire(this.pool);
    try {
      const result = await client.query({ ...prepared(sql, params), values: params as unknown[] });
      client.release();
      return result.rows as Row[];
    } catch (error) {
      throw releaseAfter(client, fromPrepared(error));
    }
  }

  /** One transaction; rolled back when `work` rejects. Keep it short, with no network I/O inside. */
  transaction<T>(work: (tx: WorkerTransaction) => Promise<T>): Promise<T> {
    return runTransaction(
      this.pool,
      (client) => client.query('BEGIN'),
      (client) => new WorkerTransaction(client, this.dataSource),
      work,
    );
  }
}
