import { randomUUID } from 'node:crypto';
import {
  type AUDIT_ENTRIES,
  MAX_MESSAGE_BYTES,
  subjects,
  type Actor,
  type AuditAction,
  type AuditEntries,
  type AuditEntry,
  type BroadcastMap,
  type Envelope,
  type EventMap,
  type IntegrationEventMap,
  type ServiceName,
} from '@rmm/contracts';
import type { RequestContext } from '@rmm/service-kit';

interface MessageFields {
  schemaVersion?: 1;
  /** Messages that share it are published in the order in which they were written. */
  aggregateId: string;
  aggregateVersion?: number;
  partnerId: string | null;
  orgId: string | null;
  actor?: Actor;
  /** A new UUID by default. */
  id?: string;
  /** Now by default. */
  timestamp?: Date;
}

/** One variant for each type of a map, so that the type of a message determines the type of its data. */
type MessagesOf<Stream extends string, Map> = {
  [Type in keyof Map & string]: MessageFields & { stream: Stream; type: Type; data: Map[Type] };
}[keyof Map & string];

/** A domain event always belongs to an organization. */
export type OutgoingEvent = MessagesOf<'events', EventMap> & { orgId: string };
export type OutgoingIntegrationEvent = MessagesOf<'internal', IntegrationEventMap>;
/** Sent on core NATS to every replica that is connected; all other messages are stored in their stream. */
export type OutgoingBroadcast = MessagesOf<'broadcast', BroadcastMap>;
export type OutgoingAuditEntry = MessageFields & { stream: 'audit'; type: AuditAction; data: AuditEntry };
/** Several entries of one partner. */
export type OutgoingAuditEntries = MessageFields & { stream: 'audit'; type: typeof AUDIT_ENTRIES; data: AuditEntries };
/**
 * A record of an export interface; `data` is the whole message, which gets the id of the outbox when it has no `messageId`.
 * @see docs/reference/events.md
 */
export type OutgoingRecord = MessageFields & {
  stream: 'records';
  type: `${string}.upsert` | `${string}.delete` | `rejected.${string}`;
  data: { resource: string };
};

/** A message written in the transaction of the change that it announces. */
export type OutgoingMessage =
  | OutgoingEvent
  | OutgoingIntegrationEvent
  | OutgoingBroadcast
  | OutgoingAuditEntry
  | OutgoingAuditEntries
  | OutgoingRecord;

/** A row of the outbox, with its payload ready to send. */
export interface EncodedMessage {
  id: string;
  aggregateId: string;
  subject: string;
  payload: string;
}

const TYPE = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;
const TOKEN = /^[A-Za-z0-9_-]+$/;

/** Returns the subject of a message. @throws TypeError  when its type or organization cannot be part of a subject */
export function subjectOf(service: ServiceName, { stream, type, orgId }: OutgoingMessage): string {
  if (!TYPE.test(type)) throw new TypeError(`"${type}" is not a message type`);
  switch (stream) {
    case 'events':
      if (orgId === null || !TOKEN.test(orgId)) throw new TypeError(`Event ${type} names no organization`);
      return subjects.event(orgId, type);
    case 'internal':
      return subjects.internal(service, type);
    case 'audit':
      return subjects.audit(service);
    case 'records':
      return type.startsWith('rejected.') ? `rmm.records-rejected.${type.slice(9)}` : `rmm.records.${type}`;
    case 'broadcast':
      return subjects.broadcast(type);
  }
}

/**
 * Builds the envelope and encodes it as the text that is sent.
 * @throws RangeError  when it is larger than a stream accepts
 */
export function encodeMessage(
  service: ServiceName,
  message: OutgoingMessage,
  context: RequestContext | undefined,
  now: Date,
): EncodedMessage {
  const id = message.id ?? randomUUID();
  const subject = subjectOf(service, message);
  const body =
    message.stream === 'records' ? { messageId: id, ...message.data } : envelopeOf(id, message, context, now);
  const payload = JSON.stringify(body);
  const bytes = Buffer.byteLength(payload);
  if (bytes > MAX_MESSAGE_BYTES) {
    throw new RangeError(`Message ${message.type} has ${bytes} bytes, at most ${MAX_MESSAGE_BYTES} can be sent`);
  }
  return { id, aggregateId: message.aggregateId, subject, payload };
}

function envelopeOf(id: string, message: OutgoingMessage, context: RequestContext | undefined, now: Date): Envelope {
  return {
    id,
    type: message.type,
    schemaVersion: message.schemaVersion ?? 1,
    timestamp: (message.timestamp ?? now).toISOString(),
    partnerId: message.partnerId,
    orgId: message.orgId,
    aggregateId: message.aggregateId,
    aggregateVersion: message.aggregateVersion ?? 0,
    actor: message.actor,
    correlationId: context?.requestId,
    traceparent: context?.traceparent,
    data: message.data,
  };
}
