import { decodeEnvelope } from '@rmm/messaging';
import { partitionOf } from '../replicas/partition-of.js';
import { rawMember } from './raw-member.js';
import { createWebhookBody, deliveryTime } from './webhook-event.mapper.js';

/** An event on its way to the owner of its organization. */
export interface IncomingEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** The creation time of its deliveries. */
  readonly createdAt: Date;
  readonly orgId: string;
  readonly partition: number;
  readonly body: string;
  /** True when deliveries of it may be stored already, which is checked before they are sent. */
  readonly isRepeated: boolean;
}

/** An event as replicas pass it to each other: the published text, when the stream stored it, whether it is repeated. */
export type ForwardedEvent = [text: string, storedAtMs: number, isRepeated: boolean];

/** The result of an event: stored, refused by a replica that does not own it, or failed for good. */
export type EventResult = 'stored' | 'refused' | 'failed';

/** @param envelope  of an event with an organization */
export function toIncomingEvent(
  envelope: { id: string; type: string; timestamp: string; orgId: string | null },
  text: string,
  storedAt: Date,
  isRepeated: boolean,
): IncomingEvent {
  const orgId = envelope.orgId ?? '';
  return {
    eventId: envelope.id,
    eventType: envelope.type,
    createdAt: deliveryTime(envelope.timestamp, storedAt),
    orgId,
    partition: partitionOf(orgId),
    body: createWebhookBody(envelope, rawMember(text, 'data') ?? '{}'),
    isRepeated,
  };
}

/** Reads an event that another replica has checked. */
export function fromForwarded([text, storedAtMs, isRepeated]: ForwardedEvent): IncomingEvent | null {
  const { orgId, type } = JSON.parse(text) as { orgId: string; type: string };
  const decoded = decodeEnvelope(`rmm.events.${orgId}.${type}`, text);
  return decoded.ok ? toIncomingEvent(decoded.envelope, text, new Date(storedAtMs), isRepeated) : null;
}
