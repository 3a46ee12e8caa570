import { EVENT_GROUPS, EVENT_WILDCARDS } from '@rmm/contracts';
import type { EventCatalogDto } from './dto/event-catalog.dto.js';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'device.enrolled': 'A device has enrolled',
  'device.online': 'A device is online again',
  'device.offline': 'A device has not been heard of for a while',
  'device.updated': 'Something about a device has changed',
  'device.decommissioned': 'A device was decommissioned',
  'alert.triggered': 'An alert was raised',
  'alert.acknowledged': 'Somebody has taken an alert',
  'alert.resolved': 'An alert is over',
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
  'patch.rollback': 'A patch was taken back',
  'security.score_changed': 'The security score of a device has changed',
  'remote.session.started': 'A remote session has begun',
  'remote.session.ended': 'A remote session has ended',
  'user.login': 'A user has signed in',
  'user.logout': 'A user has signed out',
  'session.login': 'Somebody has signed in on a device',
  'session.logout': 'Somebody has signed out on a device',
};

/** What GET /webhooks/event-types answers: fixed, not paginated. */
export const EVENT_CATALOG: Readonly<EventCatalogDto> = {
  data: Object.entries(EVENT_GROUPS).flatMap(([group, types]) =>
    types.map((type) => ({ type, group, description: DESCRIPTIONS[type] ?? type })),
  ),
  wildcards: EVENT_WILDCARDS,
};
