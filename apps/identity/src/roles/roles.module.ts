import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { AccessSourceModule } from '../access/access-source.module.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { PermissionsController } from './permissions.controller.js';
import { RoleGrantPolicy } from './role-grant.policy.js';
import { RolesController } from './roles.controller.js';
import { RolesRepository } from './roles.repository.js';
import { RolesService } from './roles.service.js';

/** Roles and the permissions they grant. */
@Module({
  imports: [AccessChangesModule, AccessSourceModule, MemberScopeModule],
  controllers: [PermissionsController, RolesController],
  providers: [RoleGrantPolicy, RolesRepository, RolesService],
  exports: [RoleGrantPolicy, RolesRepository, RolesService],
})
export class RolesModule {}
