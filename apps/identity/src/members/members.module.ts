import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { MemberScopeModule } from './member-scope.module.js';
import { MembersController } from './members.controller.js';
import { MembersRepository } from './members.repository.js';
import { MembersService } from './members.service.js';
import { PlatformUsersService } from './platform-users.service.js';

/** Members of a partner or an organization. */
@Module({
  imports: [AccessChangesModule, MemberScopeModule, RolesModule, SessionsModule, UsersModule],
  controllers: [MembersController],
  providers: [MembersRepository, MembersService, PlatformUsersService],
  exports: [MembersRepository],
})
export class MembersModule {}
