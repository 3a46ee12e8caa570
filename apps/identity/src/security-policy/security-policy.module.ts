import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { UsersModule } from '../users/users.module.js';
import { LockoutRepository } from './lockout.repository.js';
import { OrganizationPoliciesRepository } from './organization-policies.repository.js';
import { OrganizationPoliciesService } from './organization-policies.service.js';
import { PolicyChanges } from './policy-changes.js';
import { PolicyLock } from './policy-lock.js';
import { SecurityPolicyRpc } from './security-policy.rpc.js';

/** Security policies of partners and organizations. */
@Module({
  imports: [AccessChangesModule, UsersModule],
  controllers: [SecurityPolicyRpc],
  providers: [
    LockoutRepository,
    OrganizationPoliciesRepository,
    OrganizationPoliciesService,
    PolicyChanges,
    PolicyLock,
  ],
  exports: [PolicyChanges, PolicyLock],
})
export class SecurityPolicyModule {}
