import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import type { DataSource, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { currentContext } from '@rmm/service-kit';
import { tryLock } from '../database/advisory-lock.js';
import { fromDriver } from '../database/database.errors.js';
import { LockQueue, lockTimeout } from '../database/lock-queue.js';
import { bindParameters } from '../database/named-parameters.js';
import { DEFAULT_TIMEOUTS } from '../database/pool-options.js';
import { acquire, inOnePacket, queryOnce, releaseAfter } from '../database/pooled-client.js';
import { isLargeSet, isOutdatedPlan, type PreparedStatement } from '../database/prepared-statements.js';
import { measureQueries, measureQuery } from '../database/query-span.js';
import type { BatchExecutor, SqlParams, SqlStatement } from '../database/sql-executor.js';
import { assertNoOpenTransaction, runTransaction, Transaction } from '../database/transaction.js';
import { Databases } from '../module/databases.service.js';
import { type HasTenant, setTenantSettings, tenantSettingValues } from './tenant-context.js';

const SET_CONTEXT = { name: 'rmm_context', text: `select ${setTenantSettings(1)}` };
/** In addition no statement may run longer than the request that it is for. */
const SET_CONTEXT_AND_TIMEOUT = {
  name: 'rmm_context_timeout',
  text: `select ${setTenantSettings(1)} || set_config('statement_timeout', $3, true)`,
};

/** Limits how many texts one connection prepares, so that generated variants cannot fill the server's memory. */
const MAX_PREPARED = 500;

const LOCK_TAKEN = Symbol('LOCK_TAKEN');
const LOCK_RETRY_MS = 25;
/** The same as the `lock_timeout` of the pools. */
const LOCK_WAIT_MS = DEFAULT_TIMEOUTS.lockMs;

/** A statement that sets the context of its caller. */
type ScopedQuery = PreparedStatement & { values: unknown[] };

type TenantPools = Pick<Databases, 'servicePool' | 'platformPool' | 'dataSource'>;

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
  private readonly lockQueue = new LockQueue();

  constructor(@Inject(Databases) private readonly databases: TenantPools) {}

  /**
   * Runs one SELECT in one round trip, with the caller's context set inside the statement.
   * @param sql one SELECT (or WITH ... SELECT that writes nothing), no semicolon, each column with a distinct name;
   *   keep the text constant and bind what varies, since each distinct text is prepared once per connection
   * @throws DatabaseConnectionLost, DatabaseTooBusy, pg's DatabaseError
   */
  read<Row = Record<string, unknown>>(caller: HasTenant, sql: string, params?: SqlParams): Promise<Row[]> {
    return measureQuery(
      () => sql,
      () => this.readScoped<Row>(caller, sql, params),
    );
  }

  private async readScoped<Row>(caller: HasTenant, sql: string, params?: SqlParams): Promise<Row[]> {
    const pool = this.poolFor(caller);
    assertNoOpenTransaction(pool);
    const query = this.scope(caller, { sql, params });
    try {
      return (await queryOnce<Row & QueryResultRow>(pool, query)).rows;
    } catch (error) {
      if (!isOutdatedPlan(error)) throw error;
      return (await queryOnce<Row & QueryResultRow>(pool, withoutName(query))).rows;
    }
  }

  /** Runs several SELECTs on one connection in one round trip. @returns the rows of each, in order */
  readAll(caller: HasTenant, selects: readonly SqlStatement[]): Promise<Record<string, unknown>[][]> {
    return measureQueries(selects, () => this.readAllScoped(caller, selects));
  }

  private async readAllScoped(
    caller: HasTenant,
    selects: readonly SqlStatement[],
  ): Promise<Record<string, unknown>[][]> {
    const pool = this.poolFor(caller);
    assertNoOpenTransaction(pool);
    const queries = selects.map((select) => this.scope(caller, select));
    try {
      return await sendAll(pool, queries);
    } catch (error) {
      if (!isOutdatedPlan(error)) throw error;
      return sendAll(pool, queries.map(withoutName));
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
  async transaction<T>(caller: HasTenant, work: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    const { dataSource } = this.databases;
    const values = tenantSettingValues(caller.tenant);
    return runTransaction(
      this.poolFor(caller),
      (client) =>
        inOnePacket<QueryResult>(client, () => [client.query('BEGIN'), client.query(contextStatement(values))]),
      (client) => new TenantTransaction(client, dataSource, caller),
      work,
    );
  }

  /**
   * Runs one transaction as the caller while no other transaction of any replica has the lock `name`. No caller holds a
   * connection while waiting: the calls of this process queue, and the lock is tried and retried, so that the waiting
   * requests of one tenant leave the pool to the others. The lock ends with the transaction.
   * @throws DatabaseTooBusy  when the lock was not free in time
   */
  lockedTransaction<T>(caller: HasTenant, name: string, work: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    const endsAt = performance.now() + LOCK_WAIT_MS;
    return this.lockQueue.run(name, LOCK_WAIT_MS, async () => {
      for (;;) {
        const outcome = await this.tryLocked(caller, name, work);
        if (outcome !== LOCK_TAKEN) return outcome;
        if (performance.now() > endsAt) throw lockTimeout(name);
        await sleep(LOCK_RETRY_MS * (1 + Math.random()));
      }
    });
  }

  /** Returns TypeORM's repository for its metadata and query builder. Do not run queries with it: they have no tenant. */
  metadataRepository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.databases.dataSource.getRepository(entity);
  }

  private async tryLocked<T>(
    caller: HasTenant,
    name: string,
    work: (tx: TenantTransaction) => Promise<T>,
  ): Promise<T | typeof LOCK_TAKEN> {
    const taken = new Error(`The lock ${name} is taken`);
    try {
      return await this.transaction(caller, async (tx) => {
        if (!(await tryLock(tx, name))) throw taken; // rolls back: an empty COMMIT would count as a write of the request
        return work(tx);
      });
    } catch (error) {
      if (error === taken) return LOCK_TAKEN;
      throw error;
    }
  }

  /** The platform login alone sees the rows of all tenants; the context of a service login cannot. */
  private poolFor({ tenant }: HasTenant): Pool {
    return tenant.scope === 'system' ? this.databases.platformPool : this.databases.servicePool;
  }

  /** Returns the statement with the context of the caller, named unless it is planned for its values. */
  private scope({ tenant }: HasTenant, { sql, params, planForValues = false }: SqlStatement): ScopedQuery {
    const { text, values } = bindParameters(sql, params);
    const statement = this.scopedStatement(text, values.length);
    const query = { text: statement.text, values: values.concat(tenantSettingValues(tenant)) };
    return planForValues || values.some(isLargeSet) ? query : { ...query, name: statement.name };
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

const withoutName = ({ text, values }: ScopedQuery): ScopedQuery => ({ text, values });

/** Runs the queries on one connection in one round trip. @returns the rows of each, in order */
async function sendAll(pool: Pool, queries: readonly ScopedQuery[]): Promise<Record<string, unknown>[][]> {
  const client = await acquire(pool);
  let results: QueryResult<Record<string, unknown>>[];
  try {
    results = await inOnePacket(client, () => queries.map((query) => client.query<Record<string, unknown>>(query)));
  } catch (error) {
    const failure = fromDriver(error);
    if (!isOutdatedPlan(failure)) throw releaseAfter(client, failure);
    client.release(true); // its other prepared statements may be outdated too
    throw failure;
  }
  client.release();
  return results.map((result) => result.rows);
}

function contextStatement(values: string[]): QueryConfig {
  const remainingMs = currentContext()?.deadline?.remainingMs;
  if (remainingMs === undefined || remainingMs >= DEFAULT_TIMEOUTS.statementMs) return { ...SET_CONTEXT, values };
  return { ...SET_CONTEXT_AND_TIMEOUT, values: [...values, String(remainingMs)] };
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
