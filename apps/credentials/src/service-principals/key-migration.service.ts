import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { Clock } from '@rmm/service-kit';
import { ApiKeyChanges } from '../api-keys/api-key-changes.js';
import { ServicePrincipalKey } from '../api-keys/api-key.errors.js';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { toApiKeyDto, type ApiKeyDto } from '../api-keys/dto/api-key.dto.js';
import { assertMayGrant } from '../scope-checks.js';
import { KeyNotInOrganization } from './service-principal.errors.js';
import { ServicePrincipalsRepository } from './service-principals.repository.js';
import { assertUnrestricted, resource, ServicePrincipalsService } from './service-principals.service.js';

/** Hands a key that people made and machines use over to a principal, without changing it where it is used. */
@Injectable()
export class KeyMigrationService {
  constructor(
    private readonly principals: ServicePrincipalsService,
    private readonly repository: ServicePrincipalsRepository,
    private readonly keys: ApiKeysRepository,
    private readonly apiKeys: ApiKeysService,
    private readonly changes: ApiKeyChanges,
    private readonly tenants: TenantDatabase,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /**
   * Its scopes become those that key and principal share; the principal's other active key is revoked.
   * @throws SiteRestricted, PermissionNotDelegable 403; NotFoundError 404; ServicePrincipalDisabled,
   *   ServicePrincipalKey 409; KeyNotInOrganization, ApiKeyNotActive 400
   */
  migrate(caller: UserCaller, id: string, keyId: string): Promise<ApiKeyDto> {
    assertUnrestricted(caller);
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.principals.lockActive(tx, id);
      const key = await this.keys.lock(tx, keyId);
      if (key.orgId !== principal.orgId) throw new KeyNotInOrganization();
      if (key.principalId !== null) throw new ServicePrincipalKey();
      this.apiKeys.assertActive(key);
      const scopes = key.scopes.filter((scope) => principal.scopes.includes(scope));
      assertMayGrant(caller, scopes, API_KEY_SCOPES);
      const revoked = await this.principals.revokeKeys(tx, id, 'revoked');
      const migrated = await this.keys.assign(tx, keyId, id, scopes);
      await this.repository.touch(tx, id, caller.userId, 'active');
      await this.changes.announce(tx, [key], 'updated');
      const { keyPrefix } = key;
      const details = { keyId, keyPrefix, scopes, revoked: revoked.map((each) => each.keyPrefix) };
      await this.audit.record(tx, caller, 'service_principal.migrate_key', resource(principal), details);
      return toApiKeyDto(migrated, this.clock.now());
    });
  }
}
