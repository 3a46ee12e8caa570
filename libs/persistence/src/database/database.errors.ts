import { isNativeError } from 'node:util/types';
import pg from 'pg';
import { QueryFailedError } from 'typeorm';
import { UnavailableError } from '@rmm/service-kit';

/** The connection is gone or cannot be had: 503 with Retry-After. The client it happened on must not be used again. */
export class DatabaseConnectionLost extends UnavailableError {
  constructor(cause: unknown) {
    super(undefined, { cause, logDetails: { database: 'cannot be reached' } });
  }
}

/** The database answered that it could not do it in time, or now (timeout, lock, deadlock, resources): 503. */
export class DatabaseTooBusy extends UnavailableError {
  constructor(cause: unknown) {
    super(undefined, { cause, logDetails: { database: 'did not answer in time' } });
  }
}

/** COMMIT was answered with ROLLBACK: a statement had failed and the work went on as if it had not. */
export class TransactionWasAborted extends Error {
  constructor() {
    super('The transaction was rolled back: one of its statements failed and its error was swallowed. Use savepoint()');
  }
}

const CONNECTION_CODES = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25P03']);
const BUSY_CODES = new Set(['57014', '55P03', '40001', '40P01', '53000', '53100', '53200', '53400']);

/**
 * What a failed query means to the caller. To be used on what `client.query` rejected with, and on nothing else: the
 * driver reports a lost connection by a plain Error, which says nothing once it has left this place.
 * @returns DatabaseConnectionLost, DatabaseTooBusy, or the error itself (a bad statement, a violated constraint)
 */
export function fromDriver(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? '';
    if (CONNECTION_CODES.has(code) || code.startsWith('08')) return new DatabaseConnectionLost(error);
    return BUSY_CODES.has(code) ? new DatabaseTooBusy(error) : error;
  }
  const byDriverItself = isNativeError(error) && !(error instanceof TypeError) && !(error instanceof UnavailableError);
  return byDriverItself ? new DatabaseConnectionLost(error) : error;
}

/** The same for what TypeORM's manager or repositories rejected with; everything else is returned as it is. */
export function fromTypeOrm(error: unknown): unknown {
  if (!(error instanceof QueryFailedError)) return error;
  const meaning = fromDriver(error.driverError);
  return meaning instanceof UnavailableError ? meaning : error;
}

/** @returns true for a violated unique key; with `constraint`, only for that constraint or index */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return violates(error, '23505', constraint);
}

/** @returns true for a violated foreign key; with `constraint`, only for that constraint */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return violates(error, '23503', constraint);
}

/** @returns true for a violated CHECK; with `constraint`, only for that constraint */
export function isCheckViolation(error: unknown, constraint?: string): boolean {
  return violates(error, '23514', constraint);
}

function violates(error: unknown, code: string, constraint: string | undefined): boolean {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!(cause instanceof pg.DatabaseError) || cause.code !== code) return false;
  return constraint === undefined || cause.constraint === constraint;
}
