/** The event types that webhooks can subscribe to, by group. @see docs/reference/events.md */
export const EVENT_GROUPS = {
  device: ['device.enrolled', 'device.online', 'device.offline', 'device.updated', 'device.decommissioned'],
  alert: ['alert.triggered', 'alert.acknowledged', 'alert.resolved', 'alert.escalated'],
  script: ['script.started', 'script.completed', 'script.failed'],
  automation: ['automation.started', 'automation.completed', 'automation.failed'],
  policy: ['policy.evaluated', 'policy.violation', 'policy.compliant'],
  patch: ['patch.available', 'patch.approved', 'patch.installed', 'patch.failed', 'patch.rollback'],
  security: ['security.score_changed'],
  remote: ['remote.session.started', 'remote.session.ended'],
  user: ['user.login', 'user.logout', 'user.invited'],
  session: ['session.login', 'session.logout'],
  organization: ['organization.created', 'organization.updated', 'organization.deleted'],
  site: ['site.created', 'site.updated', 'site.deleted'],
  api_key: ['api_key.created', 'api_key.updated', 'api_key.rotated', 'api_key.revoked'],
} as const;

export type EventType = (typeof EVENT_GROUPS)[keyof typeof EVENT_GROUPS][number];

export const EVENT_TYPES: readonly EventType[] = Object.values(EVENT_GROUPS).flat();

/** Patterns that webhooks can subscribe to in addition to the types themselves. */
export const EVENT_WILDCARDS = [
  '*',
  'device.*',
  'alert.*',
  'script.*',
  'automation.*',
  'policy.*',
  'patch.*',
  'security.*',
  'remote.*',
  'remote.session.*',
  'user.*',
  'session.*',
  'organization.*',
  'site.*',
  'api_key.*',
] as const;

/** The type of test deliveries; it is never published and cannot be subscribed to. */
export const WEBHOOK_TEST_EVENT = 'webhook.test';

/** Narrows a text to an event type. */
export const isEventType = (type: string): type is EventType => (EVENT_TYPES as readonly string[]).includes(type);
