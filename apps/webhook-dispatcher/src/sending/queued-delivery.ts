import type { RequestShape } from '../attempt-log/stored-exchange.mapper.js';

/** The event of deliveries that are not stored yet; its message is acknowledged once all of them are. */
export interface EventInProgress {
  readonly eventId: string;
  readonly eventType: string;
  /** The creation time of its deliveries. */
  readonly createdAt: Date;
  readonly partnerId: string;
  /** The organization; the partner for deliveries to its own webhooks. @see ownerOf */
  readonly orgId: string;
  /** The organization of an event for webhooks of the partner; null for others. */
  readonly eventOrgId: string | null;
  /** The exact bytes to sign, send and store. */
  readonly body: Buffer;
  /** True once the body is in the table. */
  isBodyStored: boolean;
  /** A delivery of the event is stored, or will never be. */
  onStored(): void;
  /** A delivery was not stored, since another replica owns the partition. */
  onRefused(): void;
  /** A delivery can never be stored. */
  onFailed(error: unknown): void;
}

/** A delivery in memory, with what an attempt needs in addition to the webhook. */
export interface QueuedDelivery {
  readonly id: string;
  /** Part of the row's key. */
  readonly createdAt: Date;
  readonly webhookId: string;
  readonly partnerId: string;
  /** @see ownerOf */
  readonly orgId: string;
  readonly partition: number;
  readonly eventId: string;
  readonly eventType: string;
  /** The exact bytes to sign and send, encoded once for all webhooks; null once they are no longer stored. */
  readonly body: Buffer | null;
  readonly maxAttempts: number;
  /** Attempts so far. */
  readonly attempt: number;
  /** Null for deliveries that were read from the table. */
  readonly event: EventInProgress | null;
  /** The trace of the call that caused the event; undefined without one and for deliveries that were read from the table. */
  readonly traceparent?: string;
  /** True once its row is in the table; a delivery that ends quickly is stored with its final state only. */
  isStored: boolean;
  /** True once an outcome, which includes `pending`, is about to be written. */
  hasOutcome: boolean;
  /** `memory`: queued, in flight or waiting for a short retry; `ended`: its outcome is about to be written; `table`: neither. */
  state: 'memory' | 'ended' | 'table';
}

/** The state of a delivery after an attempt, or without one. */
export interface Outcome {
  readonly delivery: QueuedDelivery;
  /** `pending` stores a delivery that waits for an attempt or whose attempt takes long. */
  status: 'pending' | 'retrying' | 'delivered' | 'failed';
  /** When the next attempt is due, in milliseconds from now. */
  delayMs: number;
  /** Time for which the receiver asked to be left alone, in milliseconds. */
  pauseMs: number;
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

/** @param startedMs  null without an attempt */
export const createOutcome = (
  delivery: QueuedDelivery,
  status: Outcome['status'],
  startedMs: number | null = null,
): Outcome => ({
  delivery,
  status,
  delayMs: 0,
  pauseMs: 0,
  startedMs,
  shape: null,
  responseStatus: null,
  responseHeaders: null,
  responseBody: null,
  responseTimeMs: null,
  errorMessage: null,
});

/** Stores a delivery as an open row. @param delayMs  for how long another owner leaves it alone */
export function createPendingOutcome(delivery: QueuedDelivery, delayMs = 0): Outcome {
  const outcome = createOutcome(delivery, delivery.attempt > 0 ? 'retrying' : 'pending');
  outcome.delayMs = delayMs;
  return outcome;
}

/** The `errorMessage` of deliveries that were open until their retention was about to end. */
export const EXPIRED_MESSAGE = 'Expired: not sent before the end of its retention';

/** Returns the outcome of a delivery that is no longer sent, since its retention is about to end. */
export function createExpiredOutcome(delivery: QueuedDelivery): Outcome {
  const outcome = createOutcome(delivery, 'failed');
  outcome.errorMessage = EXPIRED_MESSAGE;
  return outcome;
}

/** Returns the outcome of a delivery whose webhook was paused, failed or deleted before it was due. */
export function createInactiveOutcome(delivery: QueuedDelivery): Outcome {
  const outcome = createOutcome(delivery, 'failed');
  outcome.errorMessage = 'Webhook is not active';
  return outcome;
}
