import { MAX_MESSAGE_BYTES, subjects, type Envelope, type ServiceName } from '@rmm/contracts';
import type { RequestContext } from '@rmm/service-kit';
import { randomUUID } from 'node:crypto';
import type { OutgoingMessage } from './outgoing-message.js';

/** A row of the outbox: everything the relay needs, the payload ready to send. */
export interface EncodedMessage {
  id: string;
  aggregateId: string;
  subject: string;
  payload: string;
}

const TYPE = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;
const TOKEN = /^[A-Za-z0-9_-]+$/;

/** Where a message goes. @throws TypeError  for a type or organization that makes no subject */
export function subjectOf(service: ServiceName, message: OutgoingMessage): string {
  const { stream, type, orgId } = message;
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
 * Builds the envelope once, as the text that will be sent.
 * @throws RangeError  when it is larger than a stream takes
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
    message.stream === 'records' ? { ...message.data, messageId: id } : envelopeOf(id, message, context, now);
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
