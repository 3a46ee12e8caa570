import { Module } from '@nestjs/common';
import { ACCESS_SOURCE } from '@rmm/access';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccessSourceService } from './access-source.service.js';
import { AccessRepository } from './access.repository.js';
import { AccessRpc } from './access.rpc.js';

/** Resolves what users may do, for every service. */
@Module({
  imports: [MfaPolicyModule, UsersModule],
  controllers: [AccessRpc],
  providers: [AccessRepository, AccessSourceService, { provide: ACCESS_SOURCE, useExisting: AccessSourceService }],
  exports: [AccessRepository, AccessSourceService],
})
export class AccessSourceModule {}
