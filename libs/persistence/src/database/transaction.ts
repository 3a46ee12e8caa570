import { Logger } from '@nestjs/common';
import type { PoolClient } from 'pg';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral, QueryRunner, Repository } from 'typeorm';
import { DatabaseConnectionLost } from './database-errors.js';
import { fromPrepared, prepared } from './prepared-statements.js';
import type { SqlExecutor } from './sql-executor.js';

const logger = new Logger('Transaction');

type AfterCommit = () => void | Promise<void>;

/** One open transaction on one client. It is handed to the work of `run` and is over when that work ends. */
export abstract class Transaction implements SqlExecutor {
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
  async query<Row = Record<string, unknown>>(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    this.assertOpen();
    try {
      const result = await this.client.query({ ...prepared(sql, params), values: params as unknown[] });
      return result.rows as Row[];
    } catch (error) {
      throw fromPrepared(error);
    }
  }

  /** TypeORM, on this transaction's client. Its own `transaction()` makes a savepoint. */
  get manager(): EntityManager {
    this.assertOpen();
    this.boundManager ??= managerOf(this.dataSource, this.client);
    return this.boundManager;
  }

  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.manager.getRepository(entity);
  }

  /**
   * Called once COMMIT has succeeded and the connection is back in the pool; not at all after a rollback, nor when the
   * savepoint it was registered in is rolled back. A failure is logged: the work stands.
   */
  afterCommit(callback: AfterCommit): void {
    this.assertOpen();
    this.callbacks.push(callback);
  }

  /** Runs `work` so that its failure undoes only its own statements. The failure is thrown on. */
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

  /** For `runTransaction` only: no statement may follow. */
  close(): void {
    this.open = false;
  }

  /** For `runTransaction` only. */
  async runAfterCommit(): Promise<void> {
    for (const callback of this.callbacks) {
      try {
        await callback();
      } catch (error) {
        logger.error('A callback after commit failed', error instanceof Error ? error.stack : String(error));
      }
    }
  }

  private assertOpen(): void {
    if (!this.open) throw new Error('This transaction is over: a query was made after the work of run() had ended');
  }
}

/**
 * TypeORM's query runner takes its client from the pool and awaits START TRANSACTION by itself. Here both have already
 * happened, so it is told: the client, and that one transaction is open.
 */
function managerOf(dataSource: DataSource, client: PoolClient): EntityManager {
  const runner: QueryRunner = dataSource.createQueryRunner();
  Object.assign(runner, { databaseConnection: client, isTransactionActive: true, transactionDepth: 1 });
  return runner.manager;
}
