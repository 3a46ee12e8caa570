import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { InvitationsRepositoryModule } from '../invitations/invitations-repository.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { MemberScopeModule } from './member-scope.module.js';
import { MembersRepositoryModule } from './members-repository.module.js';
import { MembersController } from './members.controller.js';
import { MembersService } from './members.service.js';
import { MembershipsController } from './memberships.controller.js';
import { MembershipsService } from './memberships.service.js';
import { PlatformUsersService } from './platform-users.service.js';

/** Members of a partner or an organization. */
@Module({
  imports: [
    AccessChangesModule,
    InvitationsRepositoryModule,
    MemberScopeModule,
    MembersRepositoryModule,
    RolesModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [MembersController, MembershipsController],
  providers: [MembersService, MembershipsService, PlatformUsersService],
  exports: [MembershipsService],
})
export class MembersModule {}
