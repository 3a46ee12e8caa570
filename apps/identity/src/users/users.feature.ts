import type { Feature } from '../feature.js';
import { Inviter } from './inviter.js';
import { InvitesController } from './invites.controller.js';
import { InvitesRepository } from './invites.repository.js';
import { InvitesService } from './invites.service.js';
import { MembersRepository } from './members.repository.js';
import { PeopleRepository } from './people.repository.js';
import { RoleAssignmentService } from './role-assignment.service.js';
import { UserAxes } from './user-axis.js';
import { UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

/** Members and invitations. */
export const usersFeature: Feature = {
  controllers: [InvitesController, UsersController],
  providers: [
    Inviter,
    InvitesRepository,
    InvitesService,
    MembersRepository,
    PeopleRepository,
    RoleAssignmentService,
    UserAxes,
    UsersService,
  ],
};
