import pg from 'pg';
import { bindParameters } from '../database/named-parameters.js';
import type { SqlParams, SqlStatement } from '../database/sql-executor.js';
import type { HasTenant } from '../tenants/tenant-context.js';
import type { TenantDatabase } from '../tenants/tenant-database.service.js';
import { nodesOf, type PlanNode } from './query-plan.js';

export interface ExplainedStatement {
  sql: string;
  /** Reads of every row of a large table: sequential scans, and scans of a whole index. Empty when indexes serve it. */
  fullScans: string[];
  /** Sequential scans alone. */
  sequentialScans: string[];
}

/** Tables with fewer rows are scanned whole at no cost. */
const LARGE_TABLE_ROWS = 1_000;

/** Explains each statement that a service runs for a caller, over the statistics of the database. */
export class StatementPlans {
  private readonly explained: ExplainedStatement[] = [];

  private constructor(
    private readonly client: pg.Client,
    private readonly large: ReadonlySet<string>,
  ) {}

  /** Starts to record. To be called after the tables were filled and analyzed. @param url  of the service login */
  static async record(
    tenants: TenantDatabase,
    { url, schema }: { url: string; schema: string },
  ): Promise<StatementPlans> {
    const client = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` });
    await client.connect();
    const { rows } = await client.query<{ relname: string }>(
      'SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND reltuples >= $2',
      [schema, LARGE_TABLE_ROWS],
    );
    const plans = new StatementPlans(client, new Set(rows.map((row) => row.relname)));
    const [read, readAll] = [tenants.read.bind(tenants), tenants.readAll.bind(tenants)];
    tenants.read = async <Row>(caller: HasTenant, sql: string, params?: SqlParams) => {
      await plans.explain({ sql, params });
      return read<Row>(caller, sql, params);
    };
    tenants.readAll = async (caller: HasTenant, selects: readonly SqlStatement[]) => {
      for (const select of selects) await plans.explain(select);
      return readAll(caller, selects);
    };
    return plans;
  }

  /** Returns the statements since the last call. */
  takeStatements(): ExplainedStatement[] {
    return this.explained.splice(0);
  }

  stop(): Promise<void> {
    return this.client.end();
  }

  private async explain({ sql, params }: SqlStatement): Promise<void> {
    const { text, values } = bindParameters(sql, params);
    const { rows } = await this.client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({
      text: `EXPLAIN (FORMAT JSON) ${text}`,
      values: [...values],
    });
    const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan);
    const ofLargeTables = nodes.filter((node) => this.large.has(node['Relation Name'] ?? ''));
    const sequential = ofLargeTables.filter((node) => node['Node Type'] === 'Seq Scan');
    const unconditional = ofLargeTables.filter(
      (node) => /^Index/.test(node['Node Type']) && node['Index Cond'] === undefined,
    );
    this.explained.push({
      sql,
      sequentialScans: sequential.map(describe),
      fullScans: [...sequential, ...unconditional].map(describe),
    });
  }
}

function describe(node: PlanNode): string {
  const index = node['Index Name'];
  return `${node['Node Type']} on ${node['Relation Name']}${index ? ` using ${index}` : ''}`;
}
