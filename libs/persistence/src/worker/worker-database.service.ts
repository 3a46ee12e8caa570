import { Inject, Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { currentContext } from '@rmm/service-kit';
import type { DatabaseSession } from '../database/database-session.js';
import { bindParameters, type BoundStatement } from '../database/named-parameters.js';
import { acquire, inOnePacket, releaseAfter } from '../database/pooled-client.js';
import { fromPrepared, prepared } from '../database/prepared-statements.js';
import { measureQueries, measureQuery } from '../database/query-span.js';
import type { BatchExecutor, SqlParams, SqlStatement } from '../database/sql-executor.js';
import { assertNoOpenTransaction, runTransaction, Transaction } from '../database/transaction.js';
import { Databases } from '../module/databases.service.js';

/** A transaction of the worker login, across tenants. It may use only the tables granted to that login. */
export class WorkerTransaction extends Transaction {
  readonly login = 'worker';
}

/** Runs statements under the worker login: work that crosses tenants and has no signed-in caller. */
@Injectable()
export class WorkerDatabase implements BatchExecutor {
  constructor(
    @Inject(Databases) private readonly databases: Pick<Databases, 'workerPool' | 'dataSource' | 'openSession'>,
  ) {}

  /** Opens a connection outside the pool, which the caller closes. @throws DatabaseConnectionLost */
  openSession(purpose: string): Promise<DatabaseSession> {
    return this.databases.openSession(purpose);
  }

  /** Runs one statement in its own transaction. @throws DatabaseConnectionLost, DatabaseTooBusy, pg's DatabaseError */
  async query<Row = Record<string, unknown>>(sql: string, params?: SqlParams): Promise<Row[]> {
    const statement = bindParameters(sql, params);
    const read = async (client: PoolClient) => (await send(client, statement)).rows as Row[];
    return measureQuery(
      () => sql,
      () => this.withClient(read),
    );
  }

  /** Runs several statements in one transaction and one round trip, in the order given. @returns the rows of each */
  async queryAllInTransaction(statements: readonly SqlStatement[]): Promise<Record<string, unknown>[][]> {
    currentContext()?.deadline?.startCommit();
    const results = await this.queryAll([{ sql: 'BEGIN' }, ...statements, { sql: 'COMMIT' }]);
    return results.slice(1, -1);
  }

  async queryAll(statements: readonly SqlStatement[]): Promise<Record<string, unknown>[][]> {
    const bound = statements.map(({ sql, params }) => bindParameters(sql, params));
    const read = async (client: PoolClient) => {
      const results = await inOnePacket(client, () => bound.map((statement) => send(client, statement)));
      return results.map((result) => result.rows as Record<string, unknown>[]);
    };
    return measureQueries(statements, () => this.withClient(read));
  }

  /** Runs one transaction; rolled back when `work` rejects. Keep it short, with no network I/O inside. */
  transaction<T>(work: (tx: WorkerTransaction) => Promise<T>): Promise<T> {
    const { workerPool, dataSource } = this.databases;
    return runTransaction(
      workerPool,
      (client) => client.query('BEGIN'),
      (client) => new WorkerTransaction(client, dataSource),
      work,
    );
  }

  private async withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    assertNoOpenTransaction(this.databases.workerPool);
    const client = await acquire(this.databases.workerPool);
    let result: T;
    try {
      result = await work(client);
    } catch (error) {
      throw releaseAfter(client, fromPrepared(error));
    }
    client.release();
    return result;
  }
}

function send(client: PoolClient, { text, values }: BoundStatement) {
  return client.query({ ...prepared(text, values), values });
}
