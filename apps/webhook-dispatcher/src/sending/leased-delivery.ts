/** A delivery this process holds a lease on: what an attempt needs, beside the webhook itself. */
export interface LeasedDelivery {
  readonly id: string;
  /** Part of the row's key. */
  readonly createdAt: Date;
  readonly webhookId: string;
  readonly orgId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** The exact text to sign and send. Null when it is no longer kept. */
  readonly body: string | null;
  /** Attempts made so far. */
  readonly attempt: number;
  /** Under which identity it was taken: an outcome counts only while the row still says so. */
  readonly owner: string;
}
