/** The webhook event types of SPEC 6.1, by group. */
export const EVENT_GROUPS = {
  device: ['device.enrolled', 'device.online', 'device.offline', 'device.updated', 'device.decommissioned'],
  alert: ['alert.triggered', 'alert.acknowledged', 'alert.resolved', 'alert.escalated'],
  script: ['script.started', 'script.completed', 'script.failed'],
  automation: ['automation.started', 'automation.completed', 'automation.failed'],
  policy: ['policy.evaluated', 'policy.violation', 'policy.compliant'],
  patch: ['patch.available', 'patch.approved', 'patch.installed', 'patch.failed', 'patch.rollback'],
  security: ['security.score_changed'],
  remote: ['remote.session.started', 'remote.session.ended'],
  user: ['user.login', 'user.logout'],
  session: ['session.login', 'session.logout'],
} as const;

export type EventType = (typeof EVENT_GROUPS)[keyof typeof EVENT_GROUPS][number];

export const EVENT_TYPES: readonly EventType[] = Object.values(EVENT_GROUPS).flat();

/** What a webhook may subscribe to beside the types themselves. */
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
] as const;

/** The type of test deliveries; never on the stream, never subscribed to. */
export const WEBHOOK_TEST_EVENT = 'webhook.test';

export const isEventType = (type: string): type is EventType => (EVENT_TYPES as readonly string[]).includes(type);
