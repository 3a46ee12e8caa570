import { type DynamicModule, Module } from '@nestjs/common';
import { AccessModule, OrganizationErasureModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { PersistenceModule } from '@rmm/persistence';
import { ServiceKitModule } from '@rmm/service-kit';
import { AlertsModule } from './alerts/alerts.module.js';
import { AttemptLogModule } from './attempt-log/attempt-log.module.js';
import { AutoFailModule } from './auto-fail/auto-fail.module.js';
import { BackgroundModule } from './background/background.module.js';
import type { WebhookDispatcherConfig } from './config.js';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { DispatcherLifecycle } from './dispatcher.lifecycle.js';
import { ENTITIES } from './entities.js';
import { IntakeModule } from './intake/intake.module.js';
import { MIGRATIONS } from './migrations/index.js';
import { OrganizationEraserRepository } from './organization-erasure/organization-eraser.repository.js';
import { OrganizationExportModule } from './organization-export/organization-export.module.js';
import { OrganizationUseModule } from './organization-use/organization-use.module.js';
import { PartnerWebhooksModule } from './partner-webhooks/partner-webhooks.module.js';
import { INDEX_SCANS_ONLY } from './planner.constants.js';
import { PlatformModule } from './platform.module.js';
import { QueuesModule } from './queues/queues.module.js';
import { RecoveryModule } from './recovery/recovery.module.js';
import { ReplicasModule } from './replicas/replicas.module.js';
import { SendingModule } from './sending/sending.module.js';
import { SubscriptionsModule } from './subscriptions/subscriptions.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

const SERVICE = 'webhook-dispatcher';

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
          entities: ENTITIES,
          migrations: MIGRATIONS,
          workerSettings: INDEX_SCANS_ONLY,
        }),
        MessagingModule.forRoot({ config, service: SERVICE }),
        // The deliveries of partners that are not active wait.
        AccessModule.forRoot({ config, service: SERVICE, partners: 'table' }),
        PlatformModule.forRoot(config),
        // In this order, so that `webhooks/dead-letters` and `webhooks/queues` are matched before `webhooks/:id`.
        DeliveriesModule,
        QueuesModule,
        WebhooksModule,
        AttemptLogModule,
        RecoveryModule,
        PartnerWebhooksModule,
        AutoFailModule,
        BackgroundModule,
        OrganizationErasureModule.forService('webhook-dispatcher', OrganizationEraserRepository),
        OrganizationExportModule,
        OrganizationUseModule,
        AlertsModule,
        ReplicasModule,
        SubscriptionsModule,
        SendingModule,
        IntakeModule,
      ],
      providers: [DispatcherLifecycle],
    };
  }
}
