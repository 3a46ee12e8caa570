import { Logger } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool, PoolClient, QueryResult } from 'pg';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral, QueryRunner, Repository } from 'typeorm';
import { currentContext } from '@rmm/service-kit';
import { DatabaseConnectionLost, fromDriver, fromTypeOrm, TransactionWasAborted } from './database.errors.js';
import { bindParameters } from './named-parameters.js';
import { acquire, inOnePacket, joinWritesOfTick, rollBackAndRelease } from './pooled-client.js';
import { fromPrepared, prepared } from './prepared-statements.js';
import { measureTransaction } from './query-span.js';
import type { BatchExecutor, SqlParams, SqlStatement } from './sql-executor.js';

const logger = new Logger('Transaction');

type AfterCommit = () => void | Promise<void>;

/** One open transaction on one client. It ends with the `work` it was passed to. */
export abstract class Transaction implements BatchExecutor {
  private callbacks: AfterCommit[] = [];
  private boundManager?: EntityManager;
  private savepoints = 0;
  private open = true;

  constructor(
    private readonly client: PoolClient,
    private readonly dataSource: DataSource,
  ) {}

  get isOpen(): boolean {
    return this.open;
  }

  /** @throws DatabaseConnectionLost, DatabaseTooBusy, or pg's DatabaseError */
  async query<Row = Record<string, unknown>>(sql: string, params?: SqlParams): Promise<Row[]> {
    this.assertOpen();
    const { text, values } = bindParameters(sql, params);
    try {
      return (await this.send(text, values)).rows as Row[];
    } catch (error) {
      throw fromPrepared(error);
    }
  }

  async queryAll(statements: readonly SqlStatement[]): Promise<Record<string, unknown>[][]> {
    this.assertOpen();
    const bound = statements.map(({ sql, params }) => bindParameters(sql, params));
    try {
      const results = await inOnePacket(this.client, () => bound.map(({ text, values }) => this.send(text, values)));
      return results.map((result) => result.rows as Record<string, unknown>[]);
    } catch (error) {
      throw fromPrepared(error);
    }
  }

  /** TypeORM's entity manager on this transaction's client. Its `transaction()` creates a savepoint. */
  get manager(): EntityManager {
    this.assertOpen();
    this.boundManager ??= createManager(this.dataSource, this.client);
    return this.boundManager;
  }

  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.manager.getRepository(entity);
  }

  /**
   * Registers a callback that runs once COMMIT has succeeded and the connection is back in the pool. It does not run
   * after a rollback of the transaction or of the savepoint it was registered in. Its failure is logged only.
   */
  afterCommit(callback: AfterCommit): void {
    this.assertOpen();
    this.callbacks.push(callback);
  }

  /** Runs `work` so that its failure undoes its own statements only. The failure is rethrown. */
  async savepoint<T>(work: (tx: this) => Promise<T>): Promise<T> {
    const name = `rmm_${++this.savepoints}`;
    const registered = this.callbacks.length;
    await this.query(`SAVEPOINT ${name}`);
    try {
      const result = await work(this);
      await this.query(`RELEASE SAVEPOINT ${name}`);
      return result;
    } catch (error) {
      this.callbacks.length = registered;
      if (!(error instanceof DatabaseConnectionLost)) await this.query(`ROLLBACK TO SAVEPOINT ${name}`);
      throw error;
    }
  }

  /** Refuses further statements. Called by `runTransaction` only. */
  close(): void {
    this.open = false;
  }

  /** Called by `runTransaction` only. */
  async runAfterCommit(): Promise<void> {
    for (const callback of this.callbacks) {
      try {
        await callback();
      } catch (error) {
        logger.error(
          'An after-commit callback failed; the transaction remains committed',
          error instanceof Error ? error.stack : String(error),
        );
      }
    }
  }

  private send(text: string, values: unknown[]): Promise<QueryResult> {
    joinWritesOfTick(this.client);
    return this.client.query({ ...prepared(text, values), values });
  }

  private assertOpen(): void {
    if (!this.open) throw new Error('This transaction has ended: await every query inside the work of transaction()');
  }
}

interface OpenTransaction {
  pool: Pool;
  transaction: Transaction;
  outer: OpenTransaction | undefined;
}

const current = new AsyncLocalStorage<OpenTransaction>();

/**
 * Runs BEGIN (with what `begin` sends in the same tick), the work and COMMIT; ROLLBACK on any failure.
 * @throws what the work threw; DatabaseConnectionLost; DatabaseTooBusy; TransactionWasAborted; RequestExpired when the
 *   request it runs for was answered with a timeout
 */
export function runTransaction<Tx extends Transaction, T>(
  pool: Pool,
  begin: (client: PoolClient) => Promise<unknown>,
  open: (client: PoolClient) => Tx,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return measureTransaction(async () => {
    assertNoOpenTransaction(pool);
    currentContext()?.deadline?.assertOpen();
    const client = await acquire(pool);
    const transaction = open(client);
    let result: T;
    try {
      await mapDriverErrors(begin(client));
      const inside: OpenTransaction = { pool, transaction, outer: current.getStore() };
      result = await current.run(inside, () => work(transaction));
      transaction.close();
      currentContext()?.deadline?.startCommit();
      const { command } = await mapDriverErrors(client.query('COMMIT'));
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
  });
}

/**
 * Refuses a second connection of the same pool inside a transaction: when all callers wait for one, they deadlock.
 * @throws Error a programming error, not a condition of the system
 */
export function assertNoOpenTransaction(pool: Pool): void {
  for (let at = current.getStore(); at !== undefined; at = at.outer) {
    if (at.pool === pool && at.transaction.isOpen) {
      throw new Error('A transaction of this database is already open here: use the `tx` that was passed to the work');
    }
  }
}

async function mapDriverErrors<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    throw fromDriver(error);
  }
}

/**
 * Creates an entity manager on a client whose transaction is already open. TypeORM's query runner would take its own
 * client and await START TRANSACTION, so both are set on it.
 */
function createManager(dataSource: DataSource, client: PoolClient): EntityManager {
  const runner: QueryRunner = dataSource.createQueryRunner();
  Object.assign(runner, { databaseConnection: client, isTransactionActive: true, transactionDepth: 1 });
  return runner.manager;
}
