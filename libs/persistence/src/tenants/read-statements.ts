import { setTenantSettings } from './tenant-settings.js';

export interface ReadStatement {
  /** Absent for texts beyond the limit: they are parsed each time. */
  name?: string;
  text: string;
}

/** Distinct texts prepared per connection; a query built in endless variants must not fill the server's memory. */
const MAX_PREPARED = 500;

/**
 * Wraps a query so that the tenant context is set inside the same statement, before its rows are looked for.
 *
 * The lateral join makes that order a fact: its right side refers to the left one's column, so the left side, which
 * sets the context, runs first (`offset 0` keeps the planner from merging them). Should a planner ever turn it round,
 * the settings would be empty and no row would come back. `set_config(..., true)` ends with the statement's own
 * transaction, so nothing is left for the connection's next user.
 */
export class ReadStatements {
  private readonly known = new Map<string, ReadStatement>();

  of(sql: string, parameterCount: number): ReadStatement {
    const known = this.known.get(sql);
    if (known !== undefined) return known;
    const text = wrap(sql, parameterCount);
    if (this.known.size >= MAX_PREPARED) return { text };
    const statement = { name: `rmm_read_${this.known.size}`, text };
    this.known.set(sql, statement);
    return statement;
  }
}

function wrap(sql: string, parameterCount: number): string {
  return (
    `select d.* from (select ${setTenantSettings(parameterCount + 1)} as c offset 0) x ` +
    `cross join lateral (select q.* from (\n${sql}\n) q where x.c is not null offset 0) d`
  );
}
