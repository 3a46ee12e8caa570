import { ACCESS_SOURCE } from '@rmm/access';
import { Module } from '@nestjs/common';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { UsersModule } from '../users/users.module.js';
import { DatabaseAccessSource } from './access-source.js';
import { AccessRpc } from './access.rpc.js';
import { OrganizationAccess } from './organization-access.js';

/** Answers every service's questions about a user's access. */
@Module({
  imports: [MfaPolicyModule, UsersModule],
  controllers: [AccessRpc],
  providers: [DatabaseAccessSource, OrganizationAccess, { provide: ACCESS_SOURCE, useExisting: DatabaseAccessSource }],
})
export class AccessSourceModule {}
