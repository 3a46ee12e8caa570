import type { ServiceName } from './services.js';

const DAY_MS = 86_400_000;

/** The JetStream streams of the fleet. `maxAgeMs` is the age limit of a message in milliseconds. */
export const STREAMS = {
  events: { name: 'RMM_EVENTS', subjects: ['rmm.events.>'], maxAgeMs: 7 * DAY_MS },
  internal: { name: 'RMM_INTERNAL', subjects: ['rmm.internal.>'], maxAgeMs: 14 * DAY_MS },
  audit: { name: 'RMM_AUDIT', subjects: ['rmm.audit.>'], maxAgeMs: 14 * DAY_MS },
  records: { name: 'RMM_RECORDS', subjects: ['rmm.records.>', 'rmm.records-rejected.>'], maxAgeMs: 14 * DAY_MS },
} as const;
export type StreamKind = keyof typeof STREAMS;

/** A second message with the same id within this window is dropped by the stream. */
export const DUPLICATE_WINDOW_MS = 600_000;
/** The largest message that a stream accepts, in bytes. */
export const MAX_MESSAGE_BYTES = 256 * 1024;

export const subjects = {
  /** `rmm.events.<orgId>.<type>`; either may be a wildcard for a consumer. */
  event: (orgId: string, type: string) => `rmm.events.${orgId}.${type}`,
  /** `rmm.internal.<service>.<type>`, the type dotted: `organization.created`. */
  internal: (service: ServiceName | '*', type: string) => `rmm.internal.${service}.${type}`,
  audit: (service: ServiceName | '*') => `rmm.audit.${service}`,
  record: (resource: string, change: 'upsert' | 'delete' | '*') => `rmm.records.${resource}.${change}`,
  broadcast: (topic: string) => `rmm.broadcast.${topic}`,
} as const;
