import type { ListOperation } from './list-operations.js';

/** The statements that a request ran, as `StatementPlans` of persistence explains them. */
interface Plans {
  takeStatements(): { sql: string; fullScans: string[]; sequentialScans: string[] }[];
}

/** Parameters that would choose records, of which each list serves a few. */
const SELECTING = ['cursor', 'sort', 'order', 'search', 'status', 'siteId', 'from', 'createdAfter', 'eventType'];

type Get = (path: string) => PromiseLike<{ status: number; body: unknown }>;

/**
 * Requests each list, for a tenant with each of its filters as well, and returns the requests that read a large table
 * whole, failed, or ran no statement that was recorded.
 * @param isSystem  the caller reads all tenants: an index gives the order, and a count ends after 10,000 rows
 */
export async function listProblems(
  operations: readonly ListOperation[],
  plans: Plans,
  get: Get,
  { isSystem = false }: { isSystem?: boolean } = {},
): Promise<object[]> {
  const problems: object[] = [];
  for (const { path, filters, required } of operations) {
    for (const filter of isSystem ? [''] : ['', ...filters]) {
      const query = [...required, filter].filter(Boolean).join('&');
      plans.takeStatements();
      const { status } = await get(`${path}?${query}`);
      const statements = plans.takeStatements();
      if (status === 200 && statements.length === 0) problems.push({ path, query, problem: 'no statement' });
      // A filter may name a record that is not there; the list itself may not fail.
      const allowed = filter === '' ? [200, 403] : [200, 400, 403, 404];
      if (!allowed.includes(status)) problems.push({ path, query, status });
      for (const { sql, fullScans, sequentialScans } of statements) {
        const isCount = sql.startsWith('SELECT count(*)');
        const scans = isSystem ? (isCount ? [] : sequentialScans) : fullScans;
        if (scans.length > 0) problems.push({ path, query, scans, sql });
      }
    }
  }
  return problems;
}

/** Requests each list with parameters that it does not serve. @returns those that are not refused with 400 */
export async function ignoredParameters(operations: readonly ListOperation[], get: Get): Promise<string[]> {
  const ignored: string[] = [];
  for (const { path, parameters, required } of operations) {
    for (const name of SELECTING.filter((each) => !parameters.includes(each))) {
      const { status, body } = await get(`${path}?${[...required, `${name}=x`].join('&')}`);
      if (status !== 400 || (body as { code: string }).code !== 'validation_failed') ignored.push(`${path}?${name}`);
    }
  }
  return ignored;
}
