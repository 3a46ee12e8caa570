import pg, { type ClientConfig } from 'pg';
import { DatabaseConnectionLost } from './database.errors.js';
import { bindParameters } from './named-parameters.js';
import { fromPrepared } from './prepared-statements.js';
import type { SqlExecutor, SqlParams } from './sql-executor.js';

/** Ends a session whose client is unreachable within ten seconds, so that its advisory locks become free. */
const KEEPALIVES = '-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3';

/** One connection outside the pools, for work that bulk statements may not delay and for session locks. */
export class DatabaseSession implements SqlExecutor {
  private lost = false;

  private constructor(private readonly client: pg.Client) {}

  /** @throws DatabaseConnectionLost */
  static async open(config: ClientConfig): Promise<DatabaseSession> {
    const client = new pg.Client({ ...config, options: `${config.options ?? ''} ${KEEPALIVES}` });
    const session = new DatabaseSession(client);
    client.on('error', () => (session.lost = true));
    client.on('end', () => (session.lost = true));
    try {
      await client.connect();
    } catch (error) {
      throw new DatabaseConnectionLost(error);
    }
    return session;
  }

  /** True once the connection has ended; it is not opened again. */
  get isLost(): boolean {
    return this.lost;
  }

  /** Runs one statement. @throws DatabaseConnectionLost, DatabaseTooBusy, pg's DatabaseError */
  async query<Row = Record<string, unknown>>(sql: string, params?: SqlParams): Promise<Row[]> {
    const { text, values } = bindParameters(sql, params);
    try {
      return (await this.client.query(text, values)).rows as Row[];
    } catch (error) {
      const mapped = fromPrepared(error);
      if (mapped instanceof DatabaseConnectionLost) this.lost = true;
      throw mapped;
    }
  }

  async close(): Promise<void> {
    this.lost = true;
    await this.client.end().catch(() => undefined);
  }
}
