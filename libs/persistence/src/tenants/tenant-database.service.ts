import { Inject, Injectable } from '@nestjs/common';
import type { PoolClient, QueryResult } from 'pg';
import type { DataSource, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { fromDriver } from '../database/database.errors.js';
import { bindParameters } from '../database/named-parameters.js';
import { acquire, inOnePacket, releaseAfter } from '../database/pooled-client.js';
import { isOutdatedPlan, type PreparedStatement } from '../database/prepared-statements.js';
import type { BatchExecutor, SqlParams, SqlStatement } from '../database/sql-executor.js';
import { assertNoOpenTransaction, runTransaction, Transaction } from '../database/transaction.js';
import { Databases } from '../module/databases.js';
import { type HasTenant, setTenantSettings, tenantSettingValues } from './tenant-context.js';

const SET_CONTEXT = { name: 'rmm_context', text: `select ${setTenantSettings(1)}` };

/** Limits how many texts one connection prepares, so that generated variants cannot fill the server's memory. */
const MAX_PREPARED = 500;

/** A transaction that sees and writes the rows of one caller. */
export class TenantTransaction extends Transaction {
  readonly login = 'tenant';

  constructor(
    client: PoolClient,
    dataSource: DataSource,
    /** The caller the transaction was opened for. */
    readonly caller: HasTenant,
  ) {
    super(client, dataSource);
  }
}

/** Runs statements as one caller, under row-level security. There is no other access to tenant rows for a request. */
@Injectable()
export class TenantDatabase {
  private readonly statements = new Map<string, PreparedStatement>();

  constructor(@Inject(Databases) private readonly databases: Pick<Databases, 'servicePool' | 'dataSource'>) {}

  /**
   * Runs one SELECT in one round trip, with the caller's context set inside the statement.
   * @param sql one SELECT (or WITH ... SELECT that writes nothing), no semicolon, each column with a distinct name;
   *   keep the text constant and bind what varies, since each distinct text is prepared once per connection
   * @throws DatabaseConnectionLost, DatabaseTooBusy, pg's DatabaseError
   */
  async read<Row = Record<string, unknown>>(caller: HasTenant, sql: string, params?: SqlParams): Promise<Row[]> {
    const [rows] = await this.readAll(caller, [{ sql, params }]);
    return rows as Row[];
  }

  /** Runs several SELECTs on one connection in one round trip. @returns the rows of each, in order */
  async readAll(caller: HasTenant, selects: readonly SqlStatement[]): Promise<Record<string, unknown>[][]> {
    assertNoOpenTransaction(this.databases.servicePool);
    const context = tenantSettingValues(caller.tenant);
    const queries = selects.map(({ sql, params }) => {
      const { text, values } = bindParameters(sql, params);
      return { ...this.scopedStatement(text, values.length), values: [...values, ...context] };
    });
    try {
      return await this.send(queries);
    } catch (error) {
      if (!isOutdatedPlan(error)) throw error;
      return this.send(queries.map(({ text, values }) => ({ text, values })));
    }
  }

  /** Returns `read` bound to one caller, for helpers that take an executor (`listPage`, `keysetPage`). */
  reader(caller: HasTenant): BatchExecutor {
    return {
      query: (sql, params) => this.read(caller, sql, params),
      queryAll: (statements) => this.readAll(caller, statements),
    };
  }

  /**
   * Runs one transaction as the caller; rolled back when `work` rejects. BEGIN and the context are sent together.
   * Keep it short, with no network I/O inside. Use `tx` in it: opening another transaction is refused.
   */
  transaction<T>(caller: HasTenant, work: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    const values = tenantSettingValues(caller.tenant);
    const { servicePool, dataSource } = this.databases;
    return runTransaction(
      servicePool,
      (client) =>
        inOnePacket<QueryResult>(client, () => [client.query('BEGIN'), client.query({ ...SET_CONTEXT, values })]),
      (client) => new TenantTransaction(client, dataSource, caller),
      work,
    );
  }

  /** Returns TypeORM's repository for its metadata and query builder. Do not run queries with it: they have no tenant. */
  metadataRepository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.databases.dataSource.getRepository(entity);
  }

  private async send(queries: (PreparedStatement & { values: unknown[] })[]): Promise<Record<string, unknown>[][]> {
    const client = await acquire(this.databases.servicePool);
    let results: QueryResult<Record<string, unknown>>[];
    try {
      const first = queries[0];
      results =
        queries.length === 1 && first
          ? [await client.query<Record<string, unknown>>(first)]
          : await inOnePacket(client, () => queries.map((query) => client.query<Record<string, unknown>>(query)));
    } catch (error) {
      const failure = fromDriver(error);
      if (!isOutdatedPlan(failure)) throw releaseAfter(client, failure);
      client.release(true); // its other prepared statements may be outdated too
      throw failure;
    }
    client.release();
    return results.map((result) => result.rows);
  }

  private scopedStatement(sql: string, parameterCount: number): PreparedStatement {
    const known = this.statements.get(sql);
    if (known !== undefined) return known;
    const text = withTenantContext(sql, parameterCount);
    if (this.statements.size >= MAX_PREPARED) return { text };
    const statement = { name: `rmm_read_${this.statements.size}`, text };
    this.statements.set(sql, statement);
    return statement;
  }
}

/**
 * Wraps a query so that the tenant context is set inside the same statement, before its rows are read.
 *
 * The lateral join enforces that order: its right side refers to the left one's column, so the left side, which sets
 * the context, runs first (`offset 0` keeps the planner from merging them). If a planner reversed it, the settings would
 * be empty and no row would be returned. `set_config(..., true)` ends with the statement's own transaction, so nothing
 * is left for the next user of the connection.
 */
function withTenantContext(sql: string, parameterCount: number): string {
  return (
    `select d.* from (select ${setTenantSettings(parameterCount + 1)} as c offset 0) x ` +
    `cross join lateral (select q.* from (\n${sql}\n) q where x.c is not null offset 0) d`
  );
}
