import { Module, type DynamicModule } from '@nestjs/common';
import { HealthRegistry } from '@rmm/service-kit';
import { AuditTrail } from './audit/audit-trail.js';
import { Broadcasts } from './broadcasts/broadcasts.js';
import { NatsLink } from './connection/nats-link.js';
import { DeadLettersRepository } from './consume/dead-letters.repository.js';
import { DeadLettersService } from './consume/dead-letters.service.js';
import { EventBatches } from './consume/event-batches.js';
import { Inbox } from './consume/inbox.js';
import { JetStreamServer } from './consume/jetstream-server.js';
import { MessagingMetrics } from './messaging-metrics.js';
import { MessagingLifecycle } from './messaging.lifecycle.js';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from './messaging.options.js';
import { OutboxRelay } from './outbox/outbox-relay.js';
import { Outbox } from './outbox/outbox.js';
import { OutboxRepository } from './outbox/outbox.repository.js';
import { RpcClient } from './rpc/rpc-client.js';
import { prepareStreams } from './streams/streams.js';

const DEFAULT_START_WITHIN_MS = 60_000;

/** NATS for a service. Global; needs ServiceKitModule and PersistenceModule. */
@Module({})
export class MessagingModule {
  static forRoot(options: MessagingModuleOptions): DynamicModule {
    const providers = [
      { provide: MESSAGING_OPTIONS, useValue: options },
      {
        provide: NatsLink,
        inject: [HealthRegistry],
        useFactory: (health: HealthRegistry) => connect(options, health),
      },
      AuditTrail,
      Broadcasts,
      DeadLettersRepository,
      DeadLettersService,
      EventBatches,
      Inbox,
      JetStreamServer,
      MessagingLifecycle,
      MessagingMetrics,
      Outbox,
      OutboxRelay,
      OutboxRepository,
      RpcClient,
    ];
    return { module: MessagingModule, global: true, providers, exports: providers };
  }
}

async function connect(options: MessagingModuleOptions, health: HealthRegistry): Promise<NatsLink> {
  const { config, service, startWithinMs = DEFAULT_START_WITHIN_MS } = options;
  const link = new NatsLink({ url: config.natsUrl, name: service, startWithinMs });
  await link.open();
  await prepareStreams(link, startWithinMs);
  health.register('nats', () => link.check());
  return link;
}
