import { isNativeError } from 'node:util/types';
import pg from 'pg';
import { QueryFailedError } from 'typeorm';
import { UnavailableError } from '@rmm/service-kit';

/** The connection is lost or none is available: 503 with Retry-After. The client must not be used again. */
export class DatabaseConnectionLost extends UnavailableError {
  constructor(cause: unknown) {
    super(undefined, { cause, logDetails: { database: 'unreachable' } });
  }
}

/** The database refused a statement for now (timeout, lock, deadlock, resources): 503. */
export class DatabaseTooBusy extends UnavailableError {
  constructor(cause: unknown) {
    super(undefined, { cause, logDetails: { database: 'too busy' } });
  }
}

/** COMMIT became a ROLLBACK: a statement had failed and its error was swallowed. */
export class TransactionWasAborted extends Error {
  constructor() {
    super('The transaction was rolled back: one of its statements failed and its error was swallowed. Use savepoint()');
  }
}

/**
 * Codes after which the connection is closed. 25006 (read-only transaction) means that the server became a standby: a
 * new connection may reach the new primary.
 */
const CONNECTION_CODES = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25P03', '25006']);
const BUSY_CODES = new Set(['57014', '55P03', '40001', '40P01', '53000', '53100', '53200', '53400']);

/**
 * Maps the error of `client.query`, and of nothing else: the driver reports a lost connection as a plain Error, which
 * cannot be recognized elsewhere.
 * @returns DatabaseConnectionLost, DatabaseTooBusy, or the error itself (a bad statement, a violated constraint)
 */
export function fromDriver(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? '';
    if (CONNECTION_CODES.has(code) || code.startsWith('08')) return new DatabaseConnectionLost(error);
    return BUSY_CODES.has(code) ? new DatabaseTooBusy(error) : error;
  }
  const isFromDriver = isNativeError(error) && !(error instanceof TypeError) && !(error instanceof UnavailableError);
  return isFromDriver ? new DatabaseConnectionLost(error) : error;
}

/** Maps the error of TypeORM's manager or repositories; other errors are returned as they are. */
export function fromTypeOrm(error: unknown): unknown {
  if (!(error instanceof QueryFailedError)) return error;
  const mapped = fromDriver(error.driverError);
  return mapped instanceof UnavailableError ? mapped : error;
}

/** @returns true for a violated unique key; with `constraint`, only for that constraint or index */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!(cause instanceof pg.DatabaseError) || cause.code !== '23505') return false;
  return constraint === undefined || cause.constraint === constraint;
}
