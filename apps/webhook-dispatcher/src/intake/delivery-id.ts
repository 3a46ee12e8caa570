import { createHash } from 'node:crypto';

/**
 * The id of the delivery of one event to one webhook. The same two always make the same id, so that an event that
 * comes twice makes one delivery and a receiver can tell a repeat.
 */
export const deliveryIdOf = (eventId: string, webhookId: string): string => hashedId(`${webhookId}/${eventId}`);

/** @returns a UUID of version 8 (RFC 9562: from a hash of our own choice), the same for the same text */
export function hashedId(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
