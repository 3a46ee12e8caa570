import { EVENT_GROUPS, EVENT_TYPES, EVENT_WILDCARDS } from '@rmm/contracts';
import type { EventCatalogDto } from './dto/event-catalog.dto.js';

const DESCRIPTIONS: Readonly<Record<(typeof EVENT_TYPES)[number], string>> = {
  'device.enrolled': 'A device has enrolled',
  'device.online': 'A device is online again',
  'device.offline': 'A device has not reported for a while',
  'device.updated': 'Something about a device has changed',
  'device.decommissioned': 'A device was decommissioned',
  'alert.triggered': 'An alert was raised',
  'alert.acknowledged': 'A user has acknowledged an alert',
  'alert.resolved': 'An alert was resolved',
  'alert.escalated': 'An alert was raised to a higher severity',
  'script.started': 'A script has begun on a device',
  'script.completed': 'A script has ended',
  'script.failed': 'A script has failed',
  'automation.started': 'An automation has begun',
  'automation.completed': 'An automation has ended',
  'automation.failed': 'An automation has failed',
  'policy.evaluated': 'A policy was checked on a device',
  'policy.violation': 'A device violates a policy',
  'policy.compliant': 'A device complies with a policy again',
  'patch.available': 'A patch can be installed',
  'patch.approved': 'A patch was approved',
  'patch.installed': 'A patch was installed',
  'patch.failed': 'A patch could not be installed',
  'patch.rollback': 'A patch was rolled back',
  'security.score_changed': 'The security score of a device has changed',
  'remote.session.started': 'A remote session has begun',
  'remote.session.ended': 'A remote session has ended',
  'user.login': 'A user has signed in',
  'user.logout': 'A user has signed out',
  'session.login': 'A user has signed in on a device',
  'session.logout': 'A user has signed out on a device',
};

/** The response of `GET /webhooks/event-types`. */
export const EVENT_CATALOG: Readonly<EventCatalogDto> = {
  data: Object.entries(EVENT_GROUPS).flatMap(([group, types]) =>
    types.map((type) => ({ type, group, description: DESCRIPTIONS[type] })),
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
