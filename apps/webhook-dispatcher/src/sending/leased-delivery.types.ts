/** A delivery leased by this replica, with what an attempt needs in addition to the webhook. */
export interface LeasedDelivery {
  readonly id: string;
  /** Part of the row's key. */
  readonly createdAt: Date;
  readonly webhookId: string;
  readonly orgId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** The exact text to sign and send; null once it is no longer stored. */
  readonly body: string | null;
  /** Attempts so far. */
  readonly attempt: number;
  /** The identity it was leased under; an outcome is stored only while the row has the same. */
  readonly owner: string;
}
