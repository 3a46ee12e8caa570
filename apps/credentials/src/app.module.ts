import { Module, type DynamicModule } from '@nestjs/common';
import { AccessModule, OrganizationErasureModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { IdempotencyModule, PersistenceModule } from '@rmm/persistence';
import { ServiceKitModule } from '@rmm/service-kit';
import { ApiKeysModule } from './api-keys/api-keys.module.js';
import { CREDENTIALS_CONFIG, type CredentialsConfig } from './config.js';
import { EnrollmentKeysModule } from './enrollment-keys/enrollment-keys.module.js';
import { ENTITIES } from './entities.js';
import { KeyLookupModule } from './key-lookup/key-lookup.module.js';
import { KeyUsageModule } from './key-usage/key-usage.module.js';
import { MIGRATIONS } from './migrations/index.js';
import { OrganizationEraserRepository } from './organization-erasure/organization-eraser.repository.js';
import { OrganizationExportModule } from './organization-export/organization-export.module.js';
import { OrganizationUseModule } from './organization-use/organization-use.module.js';
import { PartnerEnrollmentKeysModule } from './partner-enrollment-keys/partner-enrollment-keys.module.js';
import { PartnerPrincipalsModule } from './partner-principals/partner-principals.module.js';
import { ServicePrincipalsModule } from './service-principals/service-principals.module.js';
import { TenantChangesModule } from './tenant-changes/tenant-changes.module.js';

/** Global, so that every module can inject the configuration. */
@Module({})
export class AppModule {
  static forRoot(config: CredentialsConfig): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [
        ServiceKitModule.forRoot(config, 'credentials'),
        PersistenceModule.forRoot({ config, schema: 'credentials', entities: ENTITIES, migrations: MIGRATIONS }),
        MessagingModule.forRoot({ config, service: 'credentials' }),
        AccessModule.forRoot({ config, service: 'credentials' }),
        IdempotencyModule.forRoot({ ttlHours: config.idempotencyTtlHours }),
        TenantChangesModule,
        ApiKeysModule,
        KeyUsageModule,
        EnrollmentKeysModule,
        ServicePrincipalsModule,
        PartnerPrincipalsModule,
        PartnerEnrollmentKeysModule,
        KeyLookupModule,
        OrganizationExportModule,
        OrganizationUseModule,
        OrganizationErasureModule.forService('credentials', OrganizationEraserRepository),
      ],
      providers: [{ provide: CREDENTIALS_CONFIG, useValue: config }],
      exports: [CREDENTIALS_CONFIG],
    };
  }
}
