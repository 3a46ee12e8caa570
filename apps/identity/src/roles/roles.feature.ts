import type { Feature } from '../feature.js';
import { Grants } from './grants.js';
import { PermissionsController } from './permissions.controller.js';
import { RoleAxes } from './role-axes.js';
import { RoleEditor } from './role-editor.service.js';
import { RoleLock } from './role-lock.js';
import { RolesController } from './roles.controller.js';
import { RolesRepository } from './roles.repository.js';
import { RolesService } from './roles.service.js';
import { RolesWriter } from './roles-writer.repository.js';
import { RoleSeeds } from './seed-roles.js';

/** Roles and what they grant. */
export const rolesFeature: Feature = {
  controllers: [PermissionsController, RolesController],
  providers: [Grants, RoleAxes, RoleEditor, RoleLock, RolesRepository, RolesService, RolesWriter, RoleSeeds],
};
