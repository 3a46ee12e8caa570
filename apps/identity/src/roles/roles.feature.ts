import type { Feature } from '../feature.js';
import { Grants } from './grants.js';
import { RolesController } from './roles.controller.js';
import { RolesRepository } from './roles.repository.js';
import { RolesService } from './roles.service.js';
import { RoleSeeds } from './seed-roles.js';

/** Roles and what they grant. */
export const rolesFeature: Feature = {
  controllers: [RolesController],
  providers: [Grants, RolesRepository, RolesService, RoleSeeds],
};
