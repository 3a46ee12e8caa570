import { Module } from '@nestjs/common';
import { SCIM_TOKEN_SOURCE } from '@rmm/access';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { AccessSourceModule } from '../access/access-source.module.js';
import { InvitationsRepositoryModule } from '../invitations/invitations-repository.module.js';
import { MembersRepositoryModule } from '../members/members-repository.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { SsoModule } from '../sso/sso.module.js';
import { UsersModule } from '../users/users.module.js';
import { ApplyScimRolesJob } from './apply-scim-roles.job.js';
import { ScimAccountsService } from './scim-accounts.service.js';
import { ScimDiscoveryController } from './scim-discovery.controller.js';
import { ScimDiscoveryService } from './scim-discovery.service.js';
import { ScimFallbackController } from './scim-fallback.controller.js';
import { ScimGroupsController } from './scim-groups.controller.js';
import { ScimGroupsRepository } from './scim-groups.repository.js';
import { ScimGroupsService } from './scim-groups.service.js';
import { ScimMembershipsService } from './scim-memberships.service.js';
import { ScimRolesService } from './scim-roles.service.js';
import { ScimSettingsController } from './scim-settings.controller.js';
import { ScimSettingsService } from './scim-settings.service.js';
import { ScimTokensRepository } from './scim-tokens.repository.js';
import { ScimTokensService } from './scim-tokens.service.js';
import { ScimUsersController } from './scim-users.controller.js';
import { ScimUsersRepository } from './scim-users.repository.js';
import { ScimUsersService } from './scim-users.service.js';

/** SCIM 2.0: an organization's identity provider keeps its users and groups. */
@Module({
  imports: [
    AccessChangesModule,
    AccessSourceModule,
    InvitationsRepositoryModule,
    MembersRepositoryModule,
    RolesModule,
    SessionsModule,
    SsoModule,
    UsersModule,
  ],
  controllers: [
    ScimDiscoveryController,
    ScimGroupsController,
    ScimSettingsController,
    ScimUsersController,
    ScimFallbackController, // last: takes what no other has
  ],
  providers: [
    ApplyScimRolesJob,
    ScimAccountsService,
    ScimDiscoveryService,
    ScimGroupsRepository,
    ScimGroupsService,
    ScimMembershipsService,
    ScimRolesService,
    ScimSettingsService,
    ScimTokensRepository,
    ScimTokensService,
    ScimUsersRepository,
    ScimUsersService,
    { provide: SCIM_TOKEN_SOURCE, useExisting: ScimTokensService },
  ],
})
export class ScimModule {}
