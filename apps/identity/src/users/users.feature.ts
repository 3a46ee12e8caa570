import type { Feature } from '../feature.js';
import { AccountsService } from './accounts.service.js';
import { Inviter } from './inviter.js';
import { InvitesController } from './invites.controller.js';
import { InvitesRepository } from './invites.repository.js';
import { InvitesService } from './invites.service.js';
import { MemberChanges } from './member-changes.js';
import { MembersRepository } from './members.repository.js';
import { MembershipsRepository } from './memberships.repository.js';
import { OffBoardingService } from './off-boarding.service.js';
import { PeopleRepository } from './people.repository.js';
import { RoleAssignmentService } from './role-assignment.service.js';
import { SitesOfOrganization } from './sites-of-organization.js';
import { UserAxes } from './user-axis.js';
import { UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

/** Members and invitations. */
export const usersFeature: Feature = {
  controllers: [InvitesController, UsersController],
  providers: [
    AccountsService,
    Inviter,
    InvitesRepository,
    InvitesService,
    MemberChanges,
    MembersRepository,
    MembershipsRepository,
    OffBoardingService,
    PeopleRepository,
    RoleAssignmentService,
    SitesOfOrganization,
    UserAxes,
    UsersService,
  ],
};
