import { Injectable } from '@nestjs/common';
import { missingPermissions } from '@rmm/permissions';
import type { WorkerTransaction } from '@rmm/persistence';
import { AccessRepository } from '../access/access.repository.js';
import { RolesRepository, type GrantableRole } from '../roles/roles.repository.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { scopeOf } from './scim-accounts.service.js';
import { ScimGroupsRepository } from './scim-groups.repository.js';
import type { ScimUser } from './scim-user.entity.js';
import { ScimRoleNotGrantable } from './scim.errors.js';

/** A role and the user who may have to be able to grant it; null for a role that the member has or had. */
export interface ResolvedRole {
  role: GrantableRole;
  configuredBy: string | null;
  isKept: boolean;
}

/** Decides which role a user of SCIM has, and whether it may be given. @see docs/reference/scim.md */
@Injectable()
export class ScimRolesService {
  constructor(
    private readonly groups: ScimGroupsRepository,
    private readonly roles: RolesRepository,
    private readonly access: AccessRepository,
  ) {}

  /**
   * Returns the role of the first mapping with a group of the user, else of a group with the name of a role, else that of
   * the member who was taken over, else the default role of the provider. Null: the user has no membership.
   */
  async resolve(tx: WorkerTransaction, provider: SsoProvider, user: ScimUser): Promise<ResolvedRole | null> {
    const scope = scopeOf(provider);
    await this.roles.lockAgainstChange(tx, provider.partnerId);
    const { scimConfiguredBy, scimRoleMappings, scimGroupsByName, defaultRoleId, defaultRoleConfiguredBy } = provider;
    const names = await this.groups.listNamesOf(tx, user.id);
    const lower = new Set(names.map((name) => name.toLowerCase()));
    for (const { group, roleId } of scimRoleMappings.filter((mapping) => lower.has(mapping.group.toLowerCase()))) {
      const role = await this.roles.findGrantable(tx, scope, roleId);
      if (role) return { role, configuredBy: scimConfiguredBy, isKept: false };
      lower.delete(group.toLowerCase());
    }
    for (const name of scimGroupsByName ? names : []) {
      const role = await this.roles.findGrantableByName(tx, scope, name);
      if (role) return { role, configuredBy: scimConfiguredBy, isKept: false };
    }
    const kept = user.keptRoleId && (await this.roles.findGrantable(tx, scope, user.keptRoleId));
    if (kept) return { role: kept, configuredBy: null, isKept: true };
    const byDefault = defaultRoleId && (await this.roles.findGrantable(tx, scope, defaultRoleId));
    return byDefault ? { role: byDefault, configuredBy: defaultRoleConfiguredBy, isKept: false } : null;
  }

  /**
   * Checks that who configured a role may still grant it, in an organization, unrestricted.
   * @param replacedRoleId  the role that a member has until now, whose permissions are to be had as well
   * @throws ScimRoleNotGrantable
   */
  async assertGrantable(
    tx: WorkerTransaction,
    provider: SsoProvider,
    { role, configuredBy, isKept }: ResolvedRole,
    replacedRoleId: string | null,
  ): Promise<void> {
    if (isKept) return;
    const { partnerId, orgId } = scopeOf(provider);
    const replaced = replacedRoleId === null ? [] : await this.roles.listPermissions(tx, [replacedRoleId]);
    const needed = [...role.permissions, ...replaced];
    const grants =
      configuredBy === null
        ? []
        : await this.access.listOrganizationGrants({ userId: configuredBy, partnerId, orgId }, tx);
    const mayGrant = grants.some(
      ({ status, roleId, permissions, siteIds, deviceGroupIds }) =>
        status === 'active' &&
        roleId !== null &&
        siteIds === null &&
        deviceGroupIds === null &&
        missingPermissions(new Set(permissions), needed).length === 0,
    );
    if (!mayGrant) throw new ScimRoleNotGrantable();
  }
}
