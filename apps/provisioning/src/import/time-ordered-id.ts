import { randomUUID } from 'node:crypto';

/**
 * Returns a UUID of version 7: rows of one import are next to each other in the indexes by their ids.
 * @see docs/decisions/0028-time-ordered-ids.md
 */
export function timeOrderedId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
