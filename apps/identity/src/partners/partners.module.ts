import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { InvitationsModule } from '../invitations/invitations.module.js';
import { SecurityPolicyModule } from '../security-policy/security-policy.module.js';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';
import { PartnerProvisioningService } from './partner-provisioning.service.js';
import { PartnersRepositoryModule } from './partners-repository.module.js';
import { PartnersController } from './partners.controller.js';
import { PartnersRpc } from './partners.rpc.js';
import { PartnersService } from './partners.service.js';

/** Partner records. */
@Module({
  imports: [AccessChangesModule, InvitationsModule, PartnersRepositoryModule, SecurityPolicyModule],
  controllers: [PartnersController, PartnersRpc],
  providers: [PartnerDirectoryRepository, PartnerProvisioningService, PartnersService],
  exports: [PartnerProvisioningService],
})
export class PartnersModule {}
