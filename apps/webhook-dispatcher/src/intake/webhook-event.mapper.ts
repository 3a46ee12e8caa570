import { type Envelope, isEventType } from '@rmm/contracts';

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
