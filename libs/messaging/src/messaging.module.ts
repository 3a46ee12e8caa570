import { Module, type DynamicModule } from '@nestjs/common';
import { durablesOf } from '@rmm/contracts';
import { HealthRegistry } from '@rmm/service-kit';
import { AuditTrail } from './audit/audit-trail.service.js';
import { Broadcasts } from './broadcasts/broadcasts.service.js';
import { NatsLink } from './connection/nats-link.service.js';
import { DeadLetterMessagesRepository } from './consume/dead-letter-messages.repository.js';
import { DeadLetterMessagesService } from './consume/dead-letter-messages.service.js';
import { EventBatches } from './consume/event-batches.service.js';
import { EventStreams } from './consume/event-streams.service.js';
import { Inbox } from './consume/inbox.repository.js';
import { JetStreamServer } from './consume/jetstream.transport.js';
import { MessagingLifecycle } from './messaging.lifecycle.js';
import { MessagingMetrics } from './messaging.metrics.js';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from './messaging.options.js';
import { BroadcastOutboxRepository } from './outbox/broadcast-outbox.repository.js';
import { BroadcastRelay } from './outbox/broadcast-relay.service.js';
import { OutboxRelay } from './outbox/outbox-relay.service.js';
import { OutboxRepository } from './outbox/outbox.repository.js';
import { Outbox } from './outbox/outbox.service.js';
import { RpcClient } from './rpc/rpc-client.service.js';
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
      BroadcastOutboxRepository,
      BroadcastRelay,
      Broadcasts,
      DeadLetterMessagesRepository,
      DeadLetterMessagesService,
      EventBatches,
      EventStreams,
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
  const { config, service, startWithinMs = DEFAULT_START_WITHIN_MS, durables = durablesOf(service) } = options;
  const link = new NatsLink({ url: config.natsUrl, name: service, startWithinMs });
  await link.open();
  await prepareStreams(link, startWithinMs, durables);
  health.register('nats', () => link.check());
  return link;
}
