import { Global, Module } from '@nestjs/common';
import { TENANT_LISTENER } from '@rmm/access';
import { TenantChangesService } from './tenant-changes.service.js';

/** Global, because AccessModule looks the listener up. */
@Global()
@Module({
  providers: [TenantChangesService, { provide: TENANT_LISTENER, useExisting: TenantChangesService }],
  exports: [TENANT_LISTENER],
})
export class TenantChangesModule {}
