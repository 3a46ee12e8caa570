import { type DynamicModule, Module } from '@nestjs/common';
import { AccessModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { Outbound } from '@rmm/outbound';
import { PersistenceModule } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { ServiceKitModule } from '@rmm/service-kit';
import { attemptLogFeature } from './attempt-log/attempt-log.feature.js';
import { AUTO_FAIL } from './auto-fail/auto-fail.feature.js';
import { DispatcherConfig, type WebhookDispatcherConfig } from './config.js';
import { deadLettersFeature } from './dead-letters/dead-letters.feature.js';
import { DeliveriesController } from './deliveries/deliveries.controller.js';
import { DeliveriesRepository } from './deliveries/deliveries.repository.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { Retention } from './deliveries/retention.js';
import { DispatcherLifecycle } from './dispatcher.lifecycle.js';
import { DispatcherMetrics } from './dispatcher.metrics.js';
import { EventIntake } from './intake/event-intake.js';
import { IntakeWriter } from './intake/intake-writer.js';
import { IntakeRepository } from './intake/intake.repository.js';
import { MIGRATIONS } from './migrations/migrations.js';
import { queuesFeature } from './queues/queues.feature.js';
import { recoveryFeature } from './recovery/recovery.feature.js';
import { secretsFeature } from './secrets/secrets.feature.js';
import { SENDING } from './sending/sending.providers.js';
import { SubscriptionFeed } from './subscriptions/subscription-feed.js';
import { SubscriptionIndex } from './subscriptions/subscription-index.js';
import { SubscriptionsRepository } from './subscriptions/subscriptions.repository.js';
import { NamedOrganization } from './webhooks/named-organization.js';
import { WebhookInput } from './webhooks/webhook-input.js';
import { WebhookSealing } from './webhooks/webhook-sealing.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';
import { WebhooksRepository } from './webhooks/webhooks.repository.js';
import { WebhooksService } from './webhooks/webhooks.service.js';

const SERVICE = 'webhook-dispatcher';

/**
 * The worker looks rows up by their keys, in sets. Its plans are made once per connection, often while the partition of
 * the day is empty or its statistics are old; without this they would then read all of it for each set.
 */
const LOOK_UPS_ONLY = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off', jit: 'off' };

@Module({})
export class AppModule {
  static forRoot(config: WebhookDispatcherConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ServiceKitModule.forRoot(config, SERVICE),
        PersistenceModule.forRoot({
          config,
          schema: 'webhook_dispatcher',
          entities: [],
          migrations: MIGRATIONS,
          workerSettings: LOOK_UPS_ONLY,
        }),
        MessagingModule.forRoot({ config, service: SERVICE }),
        AccessModule.forRoot({ config, service: SERVICE }),
      ],
      controllers: [
        // Before what takes their names for ids.
        ...deadLettersFeature.controllers,
        ...queuesFeature.controllers,
        WebhooksController,
        ...secretsFeature.controllers,
        DeliveriesController,
        ...attemptLogFeature.controllers,
        ...recoveryFeature.controllers,
      ],
      providers: [
        { provide: DispatcherConfig, useValue: config.dispatcher },
        { provide: KeyRing, useFactory: () => KeyRing.fromConfig(config) },
        { provide: Outbound, useFactory: () => outboundOf(config) },
        WebhooksService,
        WebhooksRepository,
        WebhookInput,
        WebhookSealing,
        NamedOrganization,
        DeliveriesService,
        DeliveriesRepository,
        Retention,
        SubscriptionIndex,
        SubscriptionsRepository,
        SubscriptionFeed,
        EventIntake,
        IntakeRepository,
        IntakeWriter,
        ...secretsFeature.providers,
        ...attemptLogFeature.providers,
        ...deadLettersFeature.providers,
        ...recoveryFeature.providers,
        ...queuesFeature.providers,
        ...AUTO_FAIL,
        ...SENDING,
        DispatcherMetrics,
        DispatcherLifecycle,
      ],
    };
  }
}

function outboundOf({ isHosted, outboundExtraAllowedCidrs, dispatcher }: WebhookDispatcherConfig): Outbound {
  return new Outbound({
    isHosted,
    extraAllowedCidrs: outboundExtraAllowedCidrs.map(({ text }) => text),
    pools: { connectionsPerOrigin: dispatcher.originConcurrency },
  });
}
