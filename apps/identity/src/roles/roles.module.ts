import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { Grants } from './grants.js';
import { PermissionsController } from './permissions.controller.js';
import { RoleAxes } from './role-axes.js';
import { RoleEditor } from './role-editor.service.js';
import { RoleLock } from './role-lock.js';
import { RolesWriter } from './roles-writer.repository.js';
import { RolesController } from './roles.controller.js';
import { RolesRepository } from './roles.repository.js';
import { RolesService } from './roles.service.js';
import { RoleSeeds } from './seed-roles.js';

/** Roles and the permissions they grant. */
@Module({
  imports: [AccessChangesModule, MemberScopeModule],
  controllers: [PermissionsController, RolesController],
  providers: [Grants, RoleAxes, RoleEditor, RoleLock, RolesRepository, RolesService, RolesWriter, RoleSeeds],
  exports: [Grants, RoleLock, RolesRepository, RolesService, RoleSeeds],
})
export class RolesModule {}
