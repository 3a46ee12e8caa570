import { EVENT_DESCRIPTIONS, EVENT_GROUPS, EVENT_TYPES, EVENT_WILDCARDS } from '@rmm/contracts';
import type { EventCatalogDto } from './dto/event-catalog.dto.js';

/** The response of `GET /webhooks/event-types`. */
export const EVENT_CATALOG: Readonly<EventCatalogDto> = {
  data: Object.entries(EVENT_GROUPS).flatMap(([group, types]) =>
    types.map((type) => ({ type, group, description: EVENT_DESCRIPTIONS[type] })),
  ),
  wildcards: EVENT_WILDCARDS,
};

/** Every pattern a webhook may subscribe to. */
export const SUPPORTED_EVENTS: readonly string[] = [...EVENT_TYPES, ...EVENT_WILDCARDS];

const SUPPORTED: ReadonlySet<string> = new Set(SUPPORTED_EVENTS);

/** Returns the patterns that cannot be subscribed to, in the order given. */
export const unsupportedEvents = (patterns: readonly string[]): string[] =>
  patterns.filter((pattern) => !SUPPORTED.has(pattern));

/**
 * Returns the event types that patterns cover, computed once per webhook so that matching an event is a look-up.
 * `*` covers all types, `device.*` those that begin with `device.`, an unknown pattern none.
 */
export function coveredTypes(patterns: readonly string[]): ReadonlySet<string> {
  return new Set(EVENT_TYPES.filter((type) => patterns.some((pattern) => covers(pattern, type))));
}

function covers(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true;
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}
