import type { RequestShape } from '../attempt-log/request-shape.mapper.js';
import type { QueuedDelivery } from './delivery.types.js';

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
export interface Outcome extends AttemptResult {
  readonly delivery: QueuedDelivery;
  /** `pending` stores a delivery that waits for an attempt or whose attempt takes long. */
  readonly status: 'pending' | 'retrying' | 'delivered' | 'failed';
  /** False when there was no attempt. */
  readonly attempted: boolean;
  /** When the next attempt is due, in milliseconds from now. */
  readonly delayMs: number;
  readonly isDeadLetter: boolean;
  /** Time for which the receiver asked to be left alone, in milliseconds. */
  readonly pauseMs: number;
}

export const NO_RESULT: AttemptResult = {
  startedMs: null,
  shape: null,
  responseStatus: null,
  responseHeaders: null,
  responseBody: null,
  responseTimeMs: null,
  errorMessage: null,
};

const withoutAttempt = (delivery: QueuedDelivery, status: Outcome['status'], errorMessage: string | null): Outcome => ({
  ...NO_RESULT,
  delivery,
  status,
  attempted: false,
  delayMs: 0,
  isDeadLetter: false,
  pauseMs: 0,
  errorMessage,
});

/** Stores a delivery as an open row. @param delayMs  for how long another owner leaves it alone */
export const createPendingOutcome = (delivery: QueuedDelivery, delayMs = 0): Outcome => ({
  ...withoutAttempt(delivery, delivery.attempt > 0 ? 'retrying' : 'pending', null),
  delayMs,
});

/** Returns the outcome of a delivery whose webhook was paused, failed or deleted before it was due. */
export const createInactiveOutcome = (delivery: QueuedDelivery): Outcome =>
  withoutAttempt(delivery, 'failed', 'Webhook is not active');
