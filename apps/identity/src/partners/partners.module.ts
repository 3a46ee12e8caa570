import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { InvitationsRepositoryModule } from '../invitations/invitations-repository.module.js';
import { SecurityPolicyModule } from '../security-policy/security-policy.module.js';
import { PartnersRepositoryModule } from './partners-repository.module.js';
import { PartnersController } from './partners.controller.js';
import { PartnersRpc } from './partners.rpc.js';
import { PartnersService } from './partners.service.js';

/** Partner records. */
@Module({
  imports: [AccessChangesModule, InvitationsRepositoryModule, PartnersRepositoryModule, SecurityPolicyModule],
  controllers: [PartnersController, PartnersRpc],
  providers: [PartnersService],
  exports: [PartnersService],
})
export class PartnersModule {}
