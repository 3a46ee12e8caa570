import { hash } from 'node:crypto';
import { type Envelope, isEventType } from '@rmm/contracts';
import { partitionOf } from '../replicas/partition-of.js';

/** An event on its way to the owner of its organization, or of its partner for the webhooks of that. */
export interface IncomingEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** The creation time of its deliveries, Unix milliseconds. */
  readonly createdMs: number;
  readonly orgId: string;
  /** The partner whose own webhooks get the event; absent when it is for those of the organization. */
  readonly partnerId?: string;
  readonly partition: number;
  readonly body: string;
  /** The trace of the call that caused the event. */
  readonly traceparent?: string;
  /** True when deliveries of it may be stored already, which is checked before they are sent. */
  readonly isRepeated: boolean;
}

/** Returns the event for the webhooks of a partner. */
export const forPartner = (event: IncomingEvent, partnerId: string): IncomingEvent => ({
  ...event,
  partnerId,
  partition: partitionOf(partnerId),
});

/** Returns the id whose webhooks get an event. @see ownerOf */
export const recipientOf = ({ orgId, partnerId }: IncomingEvent): string => partnerId ?? orgId;

/** The result of an event: stored, refused by a replica that does not own it, or failed for good. */
export type EventResult = 'stored' | 'refused' | 'failed';

/** @param envelope  of an event with an organization */
export function toIncomingEvent(
  envelope: Pick<Envelope, 'id' | 'type' | 'timestamp' | 'orgId' | 'traceparent'>,
  text: string,
  storedAt: Date,
  isRepeated: boolean,
): IncomingEvent {
  const orgId = envelope.orgId ?? '';
  return {
    eventId: envelope.id,
    eventType: envelope.type,
    createdMs: deliveryTime(envelope.timestamp, storedAt).getTime(),
    orgId,
    partition: partitionOf(orgId),
    body: createWebhookBody(envelope, rawMember(text, 'data') ?? '{}'),
    traceparent: envelope.traceparent,
    isRepeated,
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Printable characters that a text column accepts. */
const EVENT_ID = /^[\x21-\x7e]{1,128}$/;

/** Returns why an event can never be sent to webhooks; null when it can. @see docs/reference/events.md */
export function findEventError({ id, type, orgId }: Envelope): string | null {
  if (!isEventType(type)) return `unknown event type ${type}`;
  if (orgId === null || !UUID.test(orgId)) return 'orgId is not a lower-case UUID';
  return EVENT_ID.test(id) ? null : 'id is not an id';
}

/** The age up to which the stream keeps events. */
const OLDEST_MS = 7 * 86_400_000;
/** Tolerated difference of clocks. */
const NEWEST_MS = 300_000;

/**
 * Returns the creation time of an event's deliveries, the same for each delivery of its message: the time of the event;
 * the time at which the stream stored it when that is older than the stream keeps events or in the future.
 */
export function deliveryTime(timestamp: string, storedAt: Date): Date {
  const ms = Date.parse(timestamp);
  const ageMs = storedAt.getTime() - ms;
  return ageMs <= OLDEST_MS && ageMs >= -NEWEST_MS ? new Date(ms) : storedAt;
}

/**
 * Returns the body of a delivery: exactly these fields, all from the event.
 * @param data  the text of `data` as it was published
 * @see docs/reference/webhooks.md
 */
export const createWebhookBody = (
  { id, type, timestamp, orgId }: Pick<Envelope, 'id' | 'type' | 'timestamp' | 'orgId'>,
  data: string,
): string =>
  `{"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"orgId":${JSON.stringify(orgId)},"data":${data}}`;

/**
 * Returns the id of the delivery of an event to a webhook. It depends on these two alone, so that a redelivered event
 * creates no second delivery and a receiver can recognize a repeat. It begins with the time of the event, so that rows
 * of the same time are neighbors in the index.
 */
export function deliveryIdOf(eventId: string, webhookId: string, createdAt: Date): string {
  const time = createdAt.getTime().toString(16).padStart(12, '0');
  return toUuid(time + hash('sha256', `${webhookId}/${eventId}`, 'hex'));
}

/** Returns a UUID of version 8 (RFC 9562) from the SHA-256 of a text. */
export const hashedId = (text: string): string => toUuid(hash('sha256', text, 'hex'));

function toUuid(hex: string): string {
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const STRUCTURAL = /["{}[\]]/g;
const BLANK = /\S/g;

/**
 * Returns the text of a member of a JSON object exactly as it was written: parsing and printing it again would change
 * large numbers.
 * @param json  the valid text of an object
 * @returns the last member of that name, as `JSON.parse` does; null without one
 */
export function rawMember(json: string, name: string): string | null {
  let found: string | null = null;
  let position = json.indexOf('{') + 1;
  while (position > 0 && position < json.length) {
    const keyStart = json.indexOf('"', position);
    if (keyStart === -1) break;
    const keyEnd = endOfString(json, keyStart);
    const start = nextVisible(json, json.indexOf(':', keyEnd) + 1);
    const end = endOfValue(json, start);
    if (isNamed(json.slice(keyStart + 1, keyEnd - 1), name)) found = json.slice(start, end).trimEnd();
    position = end + 1;
  }
  return found;
}

/** Returns whether the text of a key, which may contain escape sequences, is a name. */
const isNamed = (key: string, name: string): boolean =>
  key === name || (key.includes('\\') && JSON.parse(`"${key}"`) === name);

/** Returns the position after a value that begins at `start`: that of a comma or of the end of the object. */
function endOfValue(json: string, start: number): number {
  const first = json.charAt(start);
  if (first === '"') return afterValue(json, endOfString(json, start));
  if (first !== '{' && first !== '[') return afterValue(json, start);
  let depth = 0;
  STRUCTURAL.lastIndex = start;
  for (let match = STRUCTURAL.exec(json); match; match = STRUCTURAL.exec(json)) {
    if (match[0] === '"') STRUCTURAL.lastIndex = endOfString(json, match.index);
    else if (match[0] === '{' || match[0] === '[') depth += 1;
    else if ((depth -= 1) === 0) return afterValue(json, match.index + 1);
  }
  return json.length;
}

function afterValue(json: string, from: number): number {
  for (let i = from; i < json.length; i += 1) if (json.charAt(i) === ',' || json.charAt(i) === '}') return i;
  return json.length;
}

/** Returns the position after a string that begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charAt(end - 1 - backslashes) === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return json.length;
}

function nextVisible(json: string, from: number): number {
  BLANK.lastIndex = from;
  return BLANK.exec(json)?.index ?? json.length;
}
