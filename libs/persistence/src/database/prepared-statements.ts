import pg from 'pg';
import { DatabaseConnectionLost, fromDriver } from './database.errors.js';

export interface PreparedStatement {
  /** Absent when the text is parsed on each use. */
  name?: string;
  text: string;
}

/** Limits how many texts one connection prepares, so that generated variants cannot fill the server's memory. */
const MAX_PREPARED = 1_000;
const names = new Map<string, string>();

const SET_ITEMS = 100;
const SET_CHARACTERS = 8_192;

/**
 * Names a text with parameters, so that PostgreSQL parses and plans it once per connection. A statement for a large set is
 * not named: the plan that a connection keeps may be one for short lists, or for tables that were empty when it was made.
 */
export function prepared(text: string, params: readonly unknown[]): PreparedStatement {
  if (params.length === 0 || params.some(isLargeSet)) return { text };
  const known = names.get(text);
  if (known !== undefined) return { name: known, text };
  if (names.size >= MAX_PREPARED) return { text };
  const name = `rmm_${names.size}`;
  names.set(text, name);
  return { name, text };
}

/** Returns true for a parameter whose statement is planned for its values, a small part of the time that it takes. */
export const isLargeSet = (value: unknown): boolean =>
  typeof value === 'string' ? value.length > SET_CHARACTERS : Array.isArray(value) && value.length > SET_ITEMS;

/** Returns true when a migration changed the columns of a prepared statement. PostgreSQL has no code of its own for it. */
export function isOutdatedPlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/** Maps a driver error like `fromDriver`; an outdated plan becomes DatabaseConnectionLost, so the caller may retry. */
export function fromPrepared(error: unknown): unknown {
  return isOutdatedPlan(error) ? new DatabaseConnectionLost(error) : fromDriver(error);
}
