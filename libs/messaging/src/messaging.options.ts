import type { Durable, ServiceName } from '@rmm/contracts';
import type { FleetConfig } from '@rmm/service-kit';
import type { ConsumerOptions } from './consume/jetstream.transport.js';
import type { RedeliveryPolicy } from './consume/message-settler.js';
import type { RelayOptions } from './outbox/outbox-relay.service.js';

export interface MessagingModuleOptions {
  config: Pick<FleetConfig, 'natsUrl'>;
  service: ServiceName;
  /** In addition to the durable consumers `<service>-<stream>` that the handlers imply. */
  consumers?: readonly ConsumerOptions[];
  /** The durable consumers of the service; those of `DURABLES` by default. */
  durables?: readonly Durable[];
  /** Messages handled at the same time per stream; 16 by default. */
  concurrency?: number;
  relay?: Partial<RelayOptions>;
  /** When a failing message is delivered again, and when it becomes a dead letter. */
  policy?: RedeliveryPolicy;
  /** Time limit for NATS and its streams at the start, in milliseconds; a minute by default. */
  startWithinMs?: number;
}

/** Injects the `MessagingModuleOptions` of the service. */
export const MESSAGING_OPTIONS = Symbol('MESSAGING_OPTIONS');
