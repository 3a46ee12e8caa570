import { Module, type DynamicModule } from '@nestjs/common';
import { AccessModule, ORGANIZATION_LISTENER } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { PersistenceModule } from '@rmm/persistence';
import { ServiceKitModule } from '@rmm/service-kit';
import { ApiKey } from './api-keys/api-key.entity.js';
import { ApiKeysModule } from './api-keys/api-keys.module.js';
import { CREDENTIALS_CONFIG, type CredentialsConfig } from './config.js';
import { EnrollmentKey } from './enrollment-keys/enrollment-key.entity.js';
import { EnrollmentKeysModule } from './enrollment-keys/enrollment-keys.module.js';
import { KeyRecordsModule } from './key-records/key-records.module.js';
import { MIGRATIONS } from './migrations/index.js';
import { PartnerPrincipalKey } from './partner-principals/partner-principal-key.entity.js';
import { PartnerPrincipal } from './partner-principals/partner-principal.entity.js';
import { PartnerPrincipalsModule } from './partner-principals/partner-principals.module.js';
import { PartnerDirectoryController } from './partners/partner-directory.controller.js';
import { TenantChanges } from './partners/tenant-changes.js';
import { ServicePrincipal } from './service-principals/service-principal.entity.js';
import { ServicePrincipalsModule } from './service-principals/service-principals.module.js';

@Module({})
export class AppModule {
  static forRoot(config: CredentialsConfig): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [
        ServiceKitModule.forRoot(config, 'credentials'),
        PersistenceModule.forRoot({
          config,
          schema: 'credentials',
          entities: [ApiKey, EnrollmentKey, PartnerPrincipal, PartnerPrincipalKey, ServicePrincipal],
          migrations: MIGRATIONS,
        }),
        MessagingModule.forRoot({ config, service: 'credentials' }),
        AccessModule.forRoot({ config, service: 'credentials' }),
        ApiKeysModule,
        EnrollmentKeysModule,
        ServicePrincipalsModule,
        PartnerPrincipalsModule,
        KeyRecordsModule,
      ],
      controllers: [PartnerDirectoryController],
      providers: [
        { provide: CREDENTIALS_CONFIG, useValue: config },
        TenantChanges,
        { provide: ORGANIZATION_LISTENER, useExisting: TenantChanges },
      ],
      exports: [CREDENTIALS_CONFIG, ORGANIZATION_LISTENER],
    };
  }
}
