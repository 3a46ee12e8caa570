/** The event of deliveries that are not stored yet; its message is acknowledged once all of them are. */
export interface EventInProgress {
  readonly eventId: string;
  readonly eventType: string;
  /** The creation time of its deliveries. */
  readonly createdAt: Date;
  readonly partnerId: string;
  readonly orgId: string;
  /** The exact text to sign and send. */
  readonly body: string;
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
  readonly orgId: string;
  readonly partition: number;
  readonly eventId: string;
  readonly eventType: string;
  /** The exact text to sign and send; null once it is no longer stored. */
  readonly body: string | null;
  readonly maxAttempts: number;
  /** Attempts so far. */
  readonly attempt: number;
  /** Null for deliveries that were read from the table. */
  readonly event: EventInProgress | null;
  /** True once its row is in the table; a delivery that ends quickly is stored with its final state only. */
  isStored: boolean;
  /** True once an outcome, which includes `pending`, is about to be written. */
  hasOutcome: boolean;
  /** True once its attempt has ended: the outcome is about to be written, and the row must not be read before. */
  hasEnded: boolean;
}
