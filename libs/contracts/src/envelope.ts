/** The user, key, agent or system that caused an event or an audit entry. */
export interface Actor {
  type: 'user' | 'api_key' | 'agent' | 'system';
  id: string | null;
  email?: string | null;
}

/**
 * The envelope of every message that crosses a service boundary asynchronously.
 * @see docs/reference/events.md
 */
export interface Envelope<T = unknown, Type extends string = string> {
  id: string;
  type: Type;
  schemaVersion: number;
  /** ISO 8601, UTC, milliseconds: when it happened. */
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
