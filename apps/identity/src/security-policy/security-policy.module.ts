import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { AccessSourceModule } from '../access/access-source.module.js';
import { PartnersRepositoryModule } from '../partners/partners-repository.module.js';
import { UsersModule } from '../users/users.module.js';
import { LockOutPolicy } from './lock-out.policy.js';
import { SecurityPoliciesRepository } from './security-policies.repository.js';
import { SecurityPoliciesService } from './security-policies.service.js';
import { SecurityPolicyRpc } from './security-policy.rpc.js';

/** Security policies of partners and organizations. */
@Module({
  imports: [AccessChangesModule, AccessSourceModule, PartnersRepositoryModule, UsersModule],
  controllers: [SecurityPolicyRpc],
  providers: [LockOutPolicy, SecurityPoliciesRepository, SecurityPoliciesService],
  exports: [LockOutPolicy, SecurityPoliciesService],
})
export class SecurityPolicyModule {}
