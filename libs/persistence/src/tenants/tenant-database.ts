import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { fromDriver } from '../database/database-errors.js';
import { acquire, inOnePacket, releaseAfter } from '../database/pooled-client.js';
import { isOutdatedPlan } from '../database/prepared-statements.js';
import { assertNotInside, runTransaction } from '../database/run-transaction.js';
import type { SqlExecutor } from '../database/sql-executor.js';
import { type ReadStatement, ReadStatements } from './read-statements.js';
import type { HasTenant } from './tenant-context.js';
import { settingValues, setTenantSettings } from './tenant-settings.js';
import { TenantTransaction } from './tenant-transaction.js';

const SET_CONTEXT = { name: 'rmm_context', text: `select ${setTenantSettings(1)}` };

/** The two tenant doors: there is no other way to a tenant's rows. @see ARCHITECTURE.md, section 3 */
export class TenantDatabase {
  private readonly statements = new ReadStatements();

  constructor(
    private readonly pool: Pool,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * One SELECT in one round trip, with the caller's context set inside it.
   * @param sql one SELECT (or WITH ... SELECT that writes nothing), no semicolon, each column with a name of its own;
   *   keep the text constant and bind what varies, since each distinct text is prepared once per connection
   * @throws DatabaseConnectionLost, DatabaseTooBusy, pg's DatabaseError
   */
  async read<Row = Record<string, unknown>>(
    caller: HasTenant,
    sql: string,
    params: readonly unknown[] = [],
  ): Promise<Row[]> {
    assertNotInside(this.pool);
    const statement = this.statements.of(sql, params.length);
    const values = [...params, ...settingValues(caller.tenant)];
    try {
      return await this.ask<Row>(statement, values);
    } catch (error) {
      if (!isOutdatedPlan(error)) throw error;
      return this.ask<Row>({ text: statement.text }, values);
    }
  }

  /** `read` bound to one caller, for helpers that take an executor (keyset paging). */
  reader(caller: HasTenant): SqlExecutor {
    return { query: (sql, params) => this.read(caller, sql, params) };
  }

  /**
   * One transaction as the caller; rolled back when `work` rejects. BEGIN and the context leave in the same tick.
   * Keep it short, with no network I/O inside. Do not open another one inside: use the `tx`.
   */
  transaction<T>(caller: HasTenant, work: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    const values = settingValues(caller.tenant);
    return runTransaction(
      this.pool,
      (client) => inOnePacket(client, () => [client.query('BEGIN'), client.query({ ...SET_CONTEXT, values })]),
      (client) => new TenantTransaction(client, this.dataSource),
      work,
    );
  }

  private async ask<Row>(statement: ReadStatement, values: unknown[]): Promise<Row[]> {
    const client = await acquire(this.pool);
    try {
      const result = await client.query({ ...statement, values });
      client.release();
      return result.rows as Row[];
    } catch (error) {
      const failure = fromDriver(error);
      if (!isOutdatedPlan(failure)) throw releaseAfter(client, failure);
      client.release(true); // its other prepared statements may be outdated too
      throw failure;
    }
  }
}
