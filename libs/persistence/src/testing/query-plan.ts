import type { SqlExecutor, SqlParams } from '../database/sql-executor.js';

/** A node of a plan of `EXPLAIN (FORMAT JSON)`; what it counted is only there with `ANALYZE`. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: PlanNode[];
}

/** Returns a node of a plan and all below it. */
export const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** Returns the number of rows that a plan read of tables or compared in joins. */
export const countReads = (plan: PlanNode): number =>
  nodesOf(plan).reduce((sum, node) => {
    const read = node['Relation Name'] === undefined ? 0 : node['Actual Rows'];
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
    return sum + (read + removed) * node['Actual Loops'];
  }, 0);

/** Runs a statement and returns its plan instead of its result. */
export async function explain(executor: SqlExecutor, sql: string, params?: SqlParams): Promise<PlanNode> {
  const [row] = await executor.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`,
    params,
  );
  return row['QUERY PLAN'][0].Plan;
}

/**
 * Returns an executor that also explains each statement as it runs, and the plans so far. Explaining runs a statement too: what
 * it returns is the result of the second time.
 */
export function explainStatements<Executor extends SqlExecutor>(
  executor: Executor,
): { explaining: Executor; plans: PlanNode[] } {
  const plans: PlanNode[] = [];
  const query = async (sql: string, params?: SqlParams) => {
    plans.push(await explain(executor, sql, params));
    return executor.query(sql, params);
  };
  return { explaining: Object.create(executor, { query: { value: query } }) as Executor, plans };
}
