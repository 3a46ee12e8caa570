import {
  Module,
  type DynamicModule,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import type { ServiceName } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { Clock, HealthRegistry, MetricsRegistry, type FleetConfig } from '@rmm/service-kit';
import { AuditTrail } from './audit/audit-trail.js';
import { Broadcasts } from './broadcasts/broadcasts.js';
import { NatsLink } from './connection/nats-link.js';
import type { DeliveryPolicy } from './consume/delivery.js';
import { EventBatches } from './consume/event-batches.js';
import { Inbox } from './consume/inbox.js';
import { JetStreamServer, type ConsumerOptions } from './consume/jetstream-server.js';
import { DeadLetterMessages } from './consume/dead-letter-messages.js';
import { MessagingMetrics } from './messaging-metrics.js';
import { OutboxRelay, type RelayOptions } from './outbox/outbox-relay.js';
import { Outbox } from './outbox/outbox.js';
import { passErrorsOn } from './rpc/pass-errors-on.js';
import { RpcClient } from './rpc/rpc-client.js';
import { prepareStreams } from './streams/prepare-streams.js';

export interface MessagingModuleOptions {
  config: Pick<FleetConfig, 'natsUrl'>;
  service: ServiceName;
  /** Beside the durables `<service>-<stream>` that the handlers imply. */
  consumers?: readonly ConsumerOptions[];
  relay?: Partial<RelayOptions>;
  /** When a failing message is tried again, and parked. */
  policy?: DeliveryPolicy;
  /** How long NATS and its streams are waited for at start, in milliseconds; a minute by default. */
  startWithinMs?: number;
}

/** Starts the relay when the schema stands, ends everything in the order that loses least. */
export class MessagingLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly link: NatsLink,
    private readonly relay: OutboxRelay,
    private readonly batches: EventBatches,
    private readonly server: JetStreamServer,
  ) {}

  onApplicationBootstrap(): void {
    this.relay.start();
  }

  /** Consumers finish, the outbox is published as far as it can be, the connection is drained. The database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.server.close(), this.batches.stopAll()]);
    await this.relay.stop();
    await this.link.close();
  }
}

/** NATS for a service: global; needs ServiceKitModule and PersistenceModule. */
@Module({})
export class MessagingModule {
  static forRoot(options: MessagingModuleOptions): DynamicModule {
    const { config, service, consumers, startWithinMs = 60_000 } = options;
    const providers = [
      {
        provide: NatsLink,
        inject: [HealthRegistry],
        useFactory: async (health: HealthRegistry) => {
          const link = new NatsLink({ url: config.natsUrl, name: service, startWithinMs });
          await link.open();
          await prepareStreams(link, startWithinMs);
          health.register('nats', () => link.check());
          return link;
        },
      },
      {
        provide: MessagingMetrics,
        inject: [MetricsRegistry],
        useFactory: (m: MetricsRegistry) => new MessagingMetrics(m),
      },
      {
        provide: OutboxRelay,
        inject: [WorkerDatabase, NatsLink, MessagingMetrics],
        useFactory: (worker: WorkerDatabase, link: NatsLink, metrics: MessagingMetrics) =>
          new OutboxRelay(worker, link, metrics, options.relay),
      },
      {
        provide: Outbox,
        inject: [Clock, OutboxRelay],
        useFactory: (clock: Clock, relay: OutboxRelay) => new Outbox(service, clock, relay.wake),
      },
      { provide: Inbox, inject: [WorkerDatabase], useFactory: (worker: WorkerDatabase) => new Inbox(worker, service) },
      {
        provide: AuditTrail,
        inject: [Outbox, WorkerDatabase],
        useFactory: (outbox: Outbox, worker: WorkerDatabase) => new AuditTrail(outbox, worker),
      },
      { provide: RpcClient, inject: [NatsLink], useFactory: (link: NatsLink) => new RpcClient(link) },
      { provide: Broadcasts, inject: [NatsLink], useFactory: (link: NatsLink) => new Broadcasts(link) },
      {
        provide: DeadLetterMessages,
        inject: [WorkerDatabase],
        useFactory: (worker: WorkerDatabase) => new DeadLetterMessages(worker),
      },
      {
        provide: EventBatches,
        inject: [NatsLink, DeadLetterMessages, MessagingMetrics],
        useFactory: (link: NatsLink, parked: DeadLetterMessages, metrics: MessagingMetrics) =>
          new EventBatches(link, parked, metrics),
      },
      {
        provide: JetStreamServer,
        inject: [NatsLink, DeadLetterMessages, MessagingMetrics, DiscoveryService],
        useFactory: (
          link: NatsLink,
          parked: DeadLetterMessages,
          metrics: MessagingMetrics,
          discovery: DiscoveryService,
        ) => {
          passErrorsOn(discovery);
          return new JetStreamServer(link, parked, metrics, { service, consumers, policy: options.policy });
        },
      },
      {
        provide: MessagingLifecycle,
        inject: [NatsLink, OutboxRelay, EventBatches, JetStreamServer],
        useFactory: (link: NatsLink, relay: OutboxRelay, batches: EventBatches, server: JetStreamServer) =>
          new MessagingLifecycle(link, relay, batches, server),
      },
    ];
    return { module: MessagingModule, global: true, imports: [DiscoveryModule], providers, exports: providers };
  }
}
