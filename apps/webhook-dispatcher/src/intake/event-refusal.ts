import { isEventType } from '@rmm/contracts';
import type { Envelope } from '@rmm/contracts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Printable, and nothing that a text column would refuse. */
const EVENT_ID = /^[\x21-\x7e]{1,128}$/;

/**
 * Why an event cannot become a webhook, ever.
 * @returns null for a good one
 * @see CONTRACT.md 8.1
 */
export function eventRefusal({ id, type, orgId }: Envelope): string | null {
  if (!isEventType(type)) return `unknown event type ${type}`;
  if (orgId === null || !UUID.test(orgId)) return 'orgId is not a lower-case UUID';
  return EVENT_ID.test(id) ? null : 'id is not an id';
}

/** Events older than their stream, or from the future, get the time of their arrival. */
const OLDEST_MS = 7 * 86_400_000;
const NEWEST_MS = 300_000;

/**
 * The time of an event's deliveries. It follows from the event, so that the event, should it come again, meets the
 * keys it made the first time.
 */
export function deliveryTime(timestamp: string, now: Date): Date {
  const ms = Date.parse(timestamp);
  const ageMs = now.getTime() - ms;
  return ageMs <= OLDEST_MS && ageMs >= -NEWEST_MS ? new Date(ms) : now;
}

/** The body of the webhook, exactly these fields, all from the message. @see SPEC.md 6.2 */
export const webhookBody = ({
  id,
  type,
  timestamp,
  orgId,
  data,
}: Pick<Envelope, 'id' | 'type' | 'timestamp' | 'orgId' | 'data'>): string =>
  JSON.stringify({ id, type, timestamp, orgId, data });
