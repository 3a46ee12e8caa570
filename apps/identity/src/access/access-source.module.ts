import { Module } from '@nestjs/common';
import { ACCESS_SOURCE } from '@rmm/access';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccessSourceService } from './access-source.service.js';
import { AccessRepository } from './access.repository.js';
import { AccessRpc } from './access.rpc.js';
import { ActingUsersService } from './acting-users.service.js';

/** Resolves what users may do, for every service. */
@Module({
  imports: [MfaPolicyModule, UsersModule],
  controllers: [AccessRpc],
  providers: [
    AccessRepository,
    AccessSourceService,
    ActingUsersService,
    { provide: ACCESS_SOURCE, useExisting: AccessSourceService },
  ],
  exports: [ActingUsersService],
})
export class AccessSourceModule {}
