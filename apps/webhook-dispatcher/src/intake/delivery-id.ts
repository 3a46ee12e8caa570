import { hash } from 'node:crypto';

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
