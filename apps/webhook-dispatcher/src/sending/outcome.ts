import type { RequestShape } from '../attempt-log/request-shape.js';
import type { LeasedDelivery } from './leased-delivery.js';

/** What the other side answered, as it is kept. */
export interface AttemptResult {
  /** When the attempt began, Unix milliseconds. Null when there was none. */
  startedMs: number | null;
  /** Null when nothing was sent. */
  shape: RequestShape | null;
  responseStatus: number | null;
  /** As `keptHeaders` keeps them. */
  responseHeaders: string | null;
  responseBody: string | null;
  responseTimeMs: number | null;
  errorMessage: string | null;
}

/** What becomes of a held delivery. */
export type Outcome = AttemptResult & {
  delivery: LeasedDelivery;
  /** False when it failed without an attempt being made. */
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

/** The webhook was paused, failed or deleted before the delivery was due. @see CONTRACT.md 4.9 */
export const notActive = (delivery: LeasedDelivery): Outcome => ({
  ...NO_RESULT,
  delivery,
  attempted: false,
  status: 'failed',
  isDeadLetter: false,
  errorMessage: 'Webhook is not active',
});
