import { Module, type DynamicModule } from '@nestjs/common';
import { AccessModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { IdempotencyModule, PersistenceModule } from '@rmm/persistence';
import { ServiceKitModule } from '@rmm/service-kit';
import { AgentReleasesModule } from './agent-releases/agent-releases.module.js';
import { AgentsModule } from './agents/agents.module.js';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from './config.js';
import { ContactsModule } from './contacts/contacts.module.js';
import { DevPushModule } from './dev-push/dev-push.module.js';
import { CustomFieldsModule } from './devices/custom-fields/custom-fields.module.js';
import { DevicesModule } from './devices/devices.module.js';
import { DeviceGroupsModule } from './devices/groups/device-groups.module.js';
import { EnrollmentModule } from './enrollment/enrollment.module.js';
import { ENTITIES } from './entities.js';
import { ExportModule } from './export/export.module.js';
import { ImportModule } from './import/import.module.js';
import { ImportRunsModule } from './import-runs/import-runs.module.js';
import { McpDataModule } from './mcp-data/mcp-data.module.js';
import { MIGRATIONS } from './migrations/index.js';
import { OrganizationErasureModule } from './organization-erasure/organization-erasure.module.js';
import { OrganizationExportModule } from './organization-export/organization-export.module.js';
import { OrganizationsModule } from './organizations/organizations.module.js';
import { PartnerProvisioningModule } from './partner-provisioning/partner-provisioning.module.js';
import { PsaModule } from './psa/psa.module.js';
import { ScriptsModule } from './scripts/scripts.module.js';
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
        OrganizationErasureModule,
        OrganizationExportModule,
        SitesModule,
        ContactsModule,
        ImportModule,
        ImportRunsModule,
        PsaModule,
        ScriptsModule,
        DeviceGroupsModule,
        CustomFieldsModule,
        DevicesModule,
        DevPushModule,
        AgentsModule,
        AgentReleasesModule,
        EnrollmentModule,
        ExportModule,
        McpDataModule,
        PartnerProvisioningModule,
      ],
      providers: [{ provide: PROVISIONING_CONFIG, useValue: config }],
      exports: [PROVISIONING_CONFIG],
    };
  }
}
