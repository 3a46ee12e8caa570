import { Module, type DynamicModule } from '@nestjs/common';
import { AccessModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { IdempotencyModule, PersistenceModule } from '@rmm/persistence';
import { ServiceKitModule } from '@rmm/service-kit';
import { AgentsModule } from './agents/agents.module.js';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from './config.js';
import { DevPushModule } from './dev-push/dev-push.module.js';
import { CustomFieldsModule } from './devices/custom-fields/custom-fields.module.js';
import { DevicesModule } from './devices/devices.module.js';
import { DeviceGroupsModule } from './devices/groups/device-groups.module.js';
import { EnrollmentModule } from './enrollment/enrollment.module.js';
import { ENTITIES } from './entities.js';
import { ExportModule } from './export/export.module.js';
import { ImportModule } from './import/import.module.js';
import { MIGRATIONS } from './migrations/index.js';
import { OrganizationsModule } from './organizations/organizations.module.js';
import { SitesModule } from './sites/sites.module.js';

@Module({})
export class AppModule {
  static forRoot(config: ProvisioningConfig): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [
        ServiceKitModule.forRoot(config, 'provisioning'),
        PersistenceModule.forRoot({ config, schema: 'provisioning', entities: ENTITIES, migrations: MIGRATIONS }),
        MessagingModule.forRoot({ config, service: 'provisioning' }),
        AccessModule.forRoot({ config, service: 'provisioning' }),
        IdempotencyModule.forRoot({ ttlHours: config.idempotencyTtlHours }),
        OrganizationsModule,
        SitesModule,
        ImportModule,
        DeviceGroupsModule,
        DevicesModule,
        CustomFieldsModule,
        DevPushModule,
        AgentsModule,
        EnrollmentModule,
        ExportModule,
      ],
      providers: [{ provide: PROVISIONING_CONFIG, useValue: config }],
      exports: [PROVISIONING_CONFIG],
    };
  }
}
