import { measureCall } from '@rmm/service-kit';
import type { SqlStatement } from './sql-executor.js';

const SYSTEM = { 'db.system.name': 'postgresql' };
const MAX_TEXT = 2_000;

/** Runs a statement in a span of the running request. Its text contains no values: these are bound. */
export const measureQuery = <T>(text: () => string, work: () => Promise<T>): Promise<T> =>
  measureCall('postgresql query', () => ({ ...SYSTEM, 'db.query.text': text().slice(0, MAX_TEXT) }), work);

/** Runs statements that are sent together in one span. */
export const measureQueries = <T>(statements: readonly SqlStatement[], work: () => Promise<T>): Promise<T> =>
  measureQuery(() => statements.map(({ sql }) => sql).join(';\n'), work);

/** Runs a transaction in a span of the running request. */
export const measureTransaction = <T>(work: () => Promise<T>): Promise<T> =>
  measureCall('postgresql transaction', () => SYSTEM, work);
