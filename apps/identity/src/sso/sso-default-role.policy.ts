import { Injectable } from '@nestjs/common';
import { missingPermissions } from '@rmm/permissions';
import type { WorkerTransaction } from '@rmm/persistence';
import { AccessRepository } from '../access/access.repository.js';
import { RolesRepository } from '../roles/roles.repository.js';
import { memberScopeOf, type SsoProvider } from './sso-provider.entity.js';
import { SsoRefused } from './sso.errors.js';

/** Decides whether a provider may still give its default role to the users that it creates. @see docs/reference/sso.md */
@Injectable()
export class SsoDefaultRolePolicy {
  constructor(
    private readonly roles: RolesRepository,
    private readonly access: AccessRepository,
  ) {}

  /**
   * Users are created only while who chose the role may still grant it; roles do not change until the transaction ends.
   * @throws SsoRefused `invalid_role_scope`, `user_creation_failed`
   */
  async assertGrantable(
    tx: WorkerTransaction,
    provider: SsoProvider & { orgId: string },
    roleId: string,
  ): Promise<void> {
    const { partnerId, orgId, defaultRoleConfiguredBy: userId } = provider;
    await this.roles.lockAgainstChange(tx, partnerId);
    const role = await this.roles.findGrantable(tx, memberScopeOf(provider), roleId);
    if (!role || role.systemKey !== null) throw new SsoRefused('invalid_role_scope');
    if (userId === null) throw new SsoRefused('user_creation_failed', 'no user chose the role');
    const grants = await this.access.listOrganizationGrants({ userId, partnerId, orgId }, tx);
    const mayGrant = grants.some(
      ({ status, roleId: own, permissions, siteIds }) =>
        status === 'active' &&
        own !== null &&
        siteIds === null &&
        missingPermissions(new Set(permissions), role.permissions).length === 0,
    );
    if (!mayGrant) throw new SsoRefused('user_creation_failed', 'who chose the role may not grant it any more');
  }
}
