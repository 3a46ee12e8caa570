import type { Actor, StreamKind } from '@rmm/contracts';

/** What a service has to say, written in the transaction of the change it speaks of. */
export interface OutgoingMessage {
  /** `broadcast` leaves on core NATS for every replica that listens now; the others are stored in their stream. */
  stream: StreamKind | 'broadcast';
  /** Dotted: `device.enrolled`, `organization.created`; for records `<resource>.upsert`, `.delete` or `rejected.<resource>`. */
  type: string;
  schemaVersion?: 1;
  /** Messages that share it leave in the order they were added. */
  aggregateId: string;
  aggregateVersion?: number;
  partnerId: string | null;
  /** Required for stream `events`. */
  orgId: string | null;
  actor?: Actor;
  /** For stream `records` this is the whole message of CONTRACT 8.3, without its messageId. */
  data: object;
  /** A UUID of its own by default. */
  id?: string;
  /** Now by default. */
  timestamp?: Date;
}
