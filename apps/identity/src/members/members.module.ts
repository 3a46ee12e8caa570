import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { AccountsService } from './accounts.service.js';
import { MemberChanges } from './member-changes.js';
import { MemberScopeModule } from './member-scope.module.js';
import { MembersRepository } from './members.repository.js';
import { MembershipsRepository } from './memberships.repository.js';
import { OffBoardingService } from './off-boarding.service.js';
import { RoleAssignmentService } from './role-assignment.service.js';
import { SitesOfOrganization } from './sites-of-organization.js';
import { MembersController } from './members.controller.js';
import { MembersService } from './members.service.js';

/** Members of a partner or an organization. */
@Module({
  imports: [AccessChangesModule, MemberScopeModule, RolesModule, SessionsModule],
  controllers: [MembersController],
  providers: [
    AccountsService,
    MemberChanges,
    MembersRepository,
    MembershipsRepository,
    OffBoardingService,
    RoleAssignmentService,
    SitesOfOrganization,
    MembersService,
  ],
  exports: [MembersRepository, MembershipsRepository, SitesOfOrganization],
})
export class MembersModule {}
