import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { SecurityPolicyModule } from '../security-policy/security-policy.module.js';
import { InvitationsModule } from '../invitations/invitations.module.js';
import { PartnerChangesService } from './partner-changes.service.js';
import { PartnerMaker } from './partner-maker.js';
import { PartnersController } from './partners.controller.js';
import { PartnersService } from './partners.service.js';

/** Partner records. */
@Module({
  imports: [AccessChangesModule, InvitationsModule, SecurityPolicyModule],
  controllers: [PartnersController],
  providers: [PartnerChangesService, PartnerMaker, PartnersService],
  exports: [PartnerMaker],
})
export class PartnersModule {}
