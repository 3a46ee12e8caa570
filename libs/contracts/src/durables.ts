import { INTEGRATION_EVENT_PUBLISHERS, type IntegrationEventType } from './integration-events/integration-event-map.js';
import type { ServiceName } from './services.js';
import { subjects, type StreamKind } from './subjects.js';

/**
 * A durable pull consumer of JetStream, whose messages the replicas of one service share. `setup-streams` creates it
 * with the login of the administrator: a service that may create consumers could have one deliver messages on a subject
 * it may not publish to.
 * @see docs/reference/events.md
 */
export interface Durable {
  /** `<service>-<stream>` unless the service names another one. */
  name: string;
  service: ServiceName;
  stream: StreamKind;
  /** The only messages the service receives from the stream. */
  subjects: readonly string[];
  /** Messages delivered and not acknowledged; a multiple of what the consumer reads ahead. */
  maxAckPending: number;
  /** Time after which a message in the hands of a process that died is delivered again, in milliseconds; 30 s by default. */
  ackWaitMs?: number;
  /** Delivers headers only; the service reads the messages by their numbers when it has room for them. */
  headersOnly?: boolean;
}

const internal = (...types: IntegrationEventType[]) =>
  types.map((type) => subjects.internal(INTEGRATION_EVENT_PUBLISHERS[type], type));

/** The events for a service that stores a directory of organizations and data of them. */
const ORGANIZATIONS = internal(
  'organization.created',
  'organization.updated',
  'organization.deleted',
  'organizations.changed',
  'organization.erased',
);

/** The durable consumers of the fleet. A service that handles another event needs its subject here. */
export const DURABLES: readonly Durable[] = [
  {
    name: 'identity-internal',
    service: 'identity',
    stream: 'internal',
    subjects: ORGANIZATIONS,
    maxAckPending: 512,
  },
  {
    name: 'identity-audit',
    service: 'identity',
    stream: 'audit',
    subjects: [subjects.audit('*')],
    maxAckPending: 4_096,
  },
  {
    name: 'credentials-internal',
    service: 'credentials',
    stream: 'internal',
    subjects: [...ORGANIZATIONS, ...internal('partner.created', 'partner.updated', 'site.deleted')],
    maxAckPending: 512,
  },
  {
    name: 'provisioning-internal',
    service: 'provisioning',
    stream: 'internal',
    subjects: internal('partner.created', 'partner.updated', 'organization.security_policy_updated'),
    maxAckPending: 512,
  },
  {
    name: 'provisioning-records',
    service: 'provisioning',
    stream: 'records',
    subjects: [subjects.record('*', 'upsert'), subjects.record('*', 'delete')],
    maxAckPending: 512,
  },
  {
    name: 'webhook-dispatcher-internal',
    service: 'webhook-dispatcher',
    stream: 'internal',
    subjects: [...ORGANIZATIONS, ...internal('partner.created', 'partner.updated')],
    maxAckPending: 512,
  },
  {
    name: 'webhook-dispatcher-events',
    service: 'webhook-dispatcher',
    stream: 'events',
    subjects: ['rmm.events.>'],
    maxAckPending: 44_000,
    ackWaitMs: 3_000,
    headersOnly: true,
  },
];

/** Returns the durable consumers of one service. */
export const durablesOf = (service: ServiceName): readonly Durable[] =>
  DURABLES.filter((durable) => durable.service === service);
