import { Global, Module } from '@nestjs/common';
import { ORGANIZATION_LISTENER } from '@rmm/access';
import { PartnerDirectoryConsumer } from './partner-directory.consumer.js';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';
import { TenantChangesService } from './tenant-changes.service.js';

/** Global, because AccessModule injects the organization listener. */
@Global()
@Module({
  controllers: [PartnerDirectoryConsumer],
  providers: [
    PartnerDirectoryRepository,
    TenantChangesService,
    { provide: ORGANIZATION_LISTENER, useExisting: TenantChangesService },
  ],
  exports: [PartnerDirectoryRepository, ORGANIZATION_LISTENER],
})
export class PartnerDirectoryModule {}
