import pg from 'pg';
import { DatabaseConnectionLost, fromDriver } from './database-errors.js';

export interface Statement {
  /** Absent where the text is parsed each time. */
  name?: string;
  text: string;
}

/** Distinct texts prepared per connection; a query built in endless variants must not fill the server's memory. */
const MAX_PREPARED = 1_000;
const names = new Map<string, string>();

/**
 * A text with parameters comes again with others: it is parsed and planned once per connection, which for a statement
 * of some joins is most of its cost.
 */
export function prepared(text: string, params: readonly unknown[]): Statement {
  if (params.length === 0) return { text };
  const known = names.get(text);
  if (known !== undefined) return { name: known, text };
  if (names.size >= MAX_PREPARED) return { text };
  const name = `rmm_${names.size}`;
  names.set(text, name);
  return { name, text };
}

/** A migration changed the columns under a prepared statement. PostgreSQL has no code of its own for it. */
export function isOutdatedPlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/** As `fromDriver`; a connection with an outdated plan is not used again, and who asked may ask again. */
export const fromPrepared = (error: unknown): unknown =>
  isOutdatedPlan(error) ? new DatabaseConnectionLost(error) : fromDriver(error);
