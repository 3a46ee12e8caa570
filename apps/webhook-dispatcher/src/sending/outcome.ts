import type { RequestShape } from '../attempt-log/request-shape.mapper.js';
import type { LeasedDelivery } from './leased-delivery.types.js';

/** The stored result of an attempt. */
export interface AttemptResult {
  /** When the attempt started, Unix milliseconds; null when there was none. */
  startedMs: number | null;
  /** Null when nothing was sent. */
  shape: RequestShape | null;
  responseStatus: number | null;
  /** The text of `formatResponseHeaders`. */
  responseHeaders: string | null;
  responseBody: string | null;
  responseTimeMs: number | null;
  errorMessage: string | null;
}

/** The state of a delivery after an attempt, or without one. */
export type Outcome = AttemptResult & {
  delivery: LeasedDelivery;
  /** False when the delivery failed without an attempt. */
  attempted: boolean;
} & ({ status: 'delivered' } | { status: 'retrying'; delayMs: number } | { status: 'failed'; isDeadLetter: boolean });

export const NO_RESULT: AttemptResult = {
  startedMs: null,
  shape: null,
  responseStatus: null,
  responseHeaders: null,
  responseBody: null,
  responseTimeMs: null,
  errorMessage: null,
};

/** Returns the outcome of a delivery whose webhook was paused, failed or deleted before it was due. */
export const createInactiveOutcome = (delivery: LeasedDelivery): Outcome => ({
  ...NO_RESULT,
  delivery,
  attempted: false,
  status: 'failed',
  isDeadLetter: false,
  errorMessage: 'Webhook is not active',
});
