import { hash } from 'node:crypto';

/**
 * The id of the delivery of one event to one webhook. The same two always make the same id, so that an event that
 * comes twice makes one delivery and a receiver can tell a repeat.
 */
export const deliveryIdOf = (eventId: string, webhookId: string): string => hashedId(`${webhookId}/${eventId}`);

/** @returns a UUID of version 8 (RFC 9562: from a hash of our own choice), the same for the same text */
export function hashedId(text: string): string {
  const hex = hash('sha256', text, 'hex');
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
