import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import { InvalidRoleScope } from '../roles/role.errors.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { SsoProvidersRepository } from '../sso/sso-providers.repository.js';
import { auditedProvider } from '../sso/sso-providers.service.js';
import type { ScimSettingsDto, UpdateScimSettingsDto } from './dto/scim-settings.dto.js';
import { scopeOf } from './scim-accounts.service.js';
import { scimBaseUrl } from './scim-resource.mapper.js';
import { assertForScim } from './scim-tokens.service.js';

/** Settings by which the groups of a provider give roles. @see docs/reference/scim.md */
@Injectable()
export class ScimSettingsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly providers: SsoProvidersRepository,
    private readonly grants: RoleGrantPolicy,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws NotFoundError, ScimForOrganizationsOnly */
  async get(caller: UserCaller, providerId: string): Promise<ScimSettingsDto> {
    const provider = await this.providers.get(caller, providerId);
    assertForScim(caller, provider);
    return this.toDto(provider);
  }

  /**
   * Replaces the settings; they apply to the users within seconds. The caller becomes who configured them: roles are given
   * as long as this user may grant them.
   * @throws NotFoundError, ScimForOrganizationsOnly, ValidationError, PermissionNotDelegable
   */
  async update(caller: UserCaller, providerId: string, dto: UpdateScimSettingsDto): Promise<ScimSettingsDto> {
    const mappings = dto.roleMappings.map(({ group, roleId }) => ({ group, roleId }));
    const names = new Set(mappings.map(({ group }) => group.toLowerCase()));
    if (names.size < mappings.length) throw ValidationError.forField('roleMappings', 'must name each group once');
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.providers.lock(tx, providerId);
      assertForScim(caller, before);
      const current = await this.grants.refreshCaller(tx, caller, 'sso:admin');
      for (const [index, { roleId }] of mappings.entries()) {
        try {
          await this.grants.getGrantableRole(tx, current, scopeOf(before), roleId);
        } catch (error) {
          if (!(error instanceof InvalidRoleScope)) throw error;
          throw ValidationError.forField(`roleMappings.${index}.roleId`, 'is not a role of the organization');
        }
      }
      const row = await this.providers.change(tx, providerId, {
        ...{ scimRoleMappings: mappings, scimGroupsByName: dto.groupsByName, scimConfiguredBy: caller.userId },
      });
      const details = { groupsByName: dto.groupsByName, roleMappings: mappings };
      await this.audit.record(tx, caller, 'scim.settings.update', auditedProvider(row), details);
      return this.toDto(row);
    });
  }

  private toDto({ scimRoleMappings, scimGroupsByName, scimConfiguredBy, defaultRoleId }: SsoProvider): ScimSettingsDto {
    return {
      baseUrl: scimBaseUrl(this.config.publicApiUrl),
      groupsByName: scimGroupsByName,
      roleMappings: scimRoleMappings,
      configuredBy: scimConfiguredBy,
      defaultRoleId,
    };
  }
}
