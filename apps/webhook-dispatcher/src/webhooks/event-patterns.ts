import { EVENT_TYPES, EVENT_WILDCARDS } from '@rmm/contracts';

/** Everything a webhook may subscribe to. */
export const SUPPORTED_EVENTS: readonly string[] = [...EVENT_TYPES, ...EVENT_WILDCARDS];

const SUPPORTED: ReadonlySet<string> = new Set(SUPPORTED_EVENTS);

/** The patterns nobody can subscribe to, in the order given. */
export const unsupportedEvents = (patterns: readonly string[]): string[] =>
  patterns.filter((pattern) => !SUPPORTED.has(pattern));

/**
 * The event types that a webhook's patterns cover: worked out once per webhook, so that matching an event is a look-up.
 * `*` covers all, `device.*` all that begin with `device.`. A pattern nobody knows covers nothing.
 */
export function coveredTypes(patterns: readonly string[]): ReadonlySet<string> {
  return new Set(EVENT_TYPES.filter((type) => patterns.some((pattern) => covers(pattern, type))));
}

function covers(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true;
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}
