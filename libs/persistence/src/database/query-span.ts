import { measureCall } from '@rmm/service-kit';

const SYSTEM = { 'db.system.name': 'postgresql' };
const MAX_TEXT = 2_000;

/** Runs statements in a span of the running request. Their texts contain no values: these are bound. */
export const measureQuery = <T>(text: () => string, work: () => Promise<T>): Promise<T> =>
  measureCall('postgresql query', () => ({ ...SYSTEM, 'db.query.text': text().slice(0, MAX_TEXT) }), work);

/** Runs a transaction in a span of the running request. */
export const measureTransaction = <T>(work: () => Promise<T>): Promise<T> =>
  measureCall('postgresql transaction', () => SYSTEM, work);
