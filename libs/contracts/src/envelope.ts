/** Who did it, as facts, events and audit rows name them. */
export interface Actor {
  type: 'user' | 'api_key' | 'agent' | 'system';
  id: string | null;
  email?: string | null;
}

/**
 * The one envelope of everything that crosses a service boundary asynchronously.
 * @see CONTRACT.md 8.1
 */
export interface Envelope<T = unknown> {
  id: string;
  type: string;
  schemaVersion: number;
  /** ISO 8601, UTC, milliseconds: when the fact happened. */
  timestamp: string;
  partnerId: string | null;
  orgId: string | null;
  /** Order is kept between messages that share this id. */
  aggregateId: string;
  /** Rises with each change of the aggregate; consumers ignore older versions. */
  aggregateVersion: number;
  actor?: Actor;
  /** The request id of the call that caused it. */
  correlationId?: string;
  /** W3C trace context. */
  traceparent?: string;
  data: T;
}
