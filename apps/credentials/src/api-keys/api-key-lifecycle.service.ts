import { Injectable } from '@nestjs/common';
import {
  assertCanGrant,
  assertKnownScopes,
  isSiteRestricted,
  PermissionNotDelegable,
  type UserCaller,
} from '@rmm/access';
import { AuditTrail, Outbox, resourceOf } from '@rmm/messaging';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { assertIfMatch, Clock, ValidationError } from '@rmm/service-kit';
import { SiteRestricted } from '../service-principals/service-principal.errors.js';
import { addedScopes, changedFields, grantedScopes } from './api-key-changes.policy.js';
import type { ApiKey } from './api-key.entity.js';
import { ApiKeyAlreadyRevoked, ApiKeyNotActive, KeyOwnedByServicePrincipal } from './api-key.errors.js';
import { apiKeyEvent, apiKeyUpdated } from './api-key.events.js';
import { apiKeysChanged, currentStatus, toApiKeyDto } from './api-key.mapper.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import { STORE_KEY_WARNING, type ApiKeyDto } from './dto/api-key.dto.js';
import type { RevokedApiKeyDto } from './dto/revoked-api-key.dto.js';
import type { RotateApiKeyDto, RotatedApiKeyDto } from './dto/rotate-api-key.dto.js';
import type { UpdateApiKeyDto } from './dto/update-api-key.dto.js';
import { KeyCreatorPolicy } from './key-creator.policy.js';

/** Updates, rotates and revokes API keys. @see docs/reference/keys.md */
@Injectable()
export class ApiKeyLifecycleService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly creators: KeyCreatorPolicy,
    private readonly tenants: TenantDatabase,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  /**
   * Changes a key. The caller needs the permissions behind everything that the change grants; the creator of the key,
   * whose rights the key lives by, those behind the scopes.
   * @throws ApiKeyNotActive, ValidationError 400; PermissionNotDelegable, SiteRestricted, SiteAccessDenied 403;
   *   RecordChanged 412; UnavailableError 503
   */
  async update(caller: UserCaller, id: string, dto: UpdateApiKeyDto): Promise<ApiKeyDto> {
    if (Object.keys(dto).length === 0) throw ValidationError.nothingToChange();
    if (dto.scopes) assertKnownScopes(dto.scopes, API_KEY_SCOPES);
    if (dto.expiresAt && dto.expiresAt <= this.clock.now()) {
      throw ValidationError.forField('expiresAt', 'lies in the past');
    }
    const before = await this.repository.get(caller, id);
    await this.assertCanManage(caller, before);
    const lacking =
      dto.scopes && before.principalId === null ? await this.creators.findMissingPermissions(before, dto.scopes) : [];
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertNotOfPrincipal(caller, row); // it may have been migrated since it was read
      await assertIfMatch(() => toApiKeyDto(row, this.clock.now()));
      assertActive(row, this.clock.now());
      assertCanGrant(caller, grantedScopes(row, dto), API_KEY_SCOPES);
      if (lacking.length > 0 && addedScopes(row, dto).length > 0) throw creatorLacks(lacking);
      const updated = await this.repository.change(tx, id, dto);
      const details = { ...dto, ...(dto.scopes && { previousScopes: row.scopes }) };
      await this.audit.record(tx, caller, 'api_key.update', resourceOf('api_key', updated), details);
      await this.outbox.publish(tx, [
        apiKeyUpdated(updated, changedFields(dto), caller.actor),
        ...apiKeysChanged([row], 'updated'),
      ]);
      return toApiKeyDto(updated, this.clock.now());
    });
  }

  /** @throws ApiKeyAlreadyRevoked 400; SiteRestricted, SiteAccessDenied 403; RecordChanged 412; UnavailableError 503 */
  async revoke(caller: UserCaller, id: string): Promise<RevokedApiKeyDto> {
    const before = await this.repository.get(caller, id);
    await this.assertCanManage(caller, before);
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertNotOfPrincipal(caller, row); // it may have been migrated since it was read
      await assertIfMatch(() => toApiKeyDto(row, this.clock.now()));
      const [revoked] = await this.repository.revoke(tx, [id]);
      if (!revoked) throw new ApiKeyAlreadyRevoked();
      const { name, keyPrefix, updatedAt } = revoked;
      await this.audit.record(tx, caller, 'api_key.revoke', resourceOf('api_key', revoked), { keyPrefix });
      await this.outbox.publish(tx, [
        apiKeyEvent('api_key.revoked', revoked, caller.actor),
        ...apiKeysChanged([row], 'revoked'),
      ]);
      return {
        success: true,
        message: 'API key revoked',
        apiKey: { id, name, keyPrefix, status: 'revoked', updatedAt: updatedAt.toISOString() },
      };
    });
  }

  /**
   * Replaces the key of a record and resets its usage counters.
   * @throws KeyOwnedByServicePrincipal 409, ApiKeyNotActive 400, PermissionNotDelegable 403, UnavailableError 503
   */
  async rotate(caller: UserCaller, id: string, { overlapSeconds = 0 }: RotateApiKeyDto): Promise<RotatedApiKeyDto> {
    const before = await this.repository.get(caller, id);
    this.assertRotatable(before);
    await this.creators.assertCanRotate(caller, before);
    const { key, keyPrefix, keyHash } = mintApiKey();
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      this.assertRotatable(row); // it may have changed since it was read
      assertCanGrant(caller, row.scopes, API_KEY_SCOPES);
      const rotated = await this.repository.rotate(tx, id, { keyPrefix, keyHash, overlapSeconds });
      const details = { keyPrefix, previousKeyPrefix: row.keyPrefix, overlapSeconds };
      await this.audit.record(tx, caller, 'api_key.rotate', resourceOf('api_key', rotated), details);
      await this.outbox.publish(tx, [
        apiKeyEvent('api_key.rotated', rotated, caller.actor),
        ...apiKeysChanged([row], 'rotated'),
      ]);
      return { ...toApiKeyDto(rotated, this.clock.now()), key, warning: STORE_KEY_WARNING };
    });
  }

  /** @throws SiteRestricted, SiteAccessDenied 403; UnavailableError 503 */
  private async assertCanManage(caller: UserCaller, key: ApiKey): Promise<void> {
    assertNotOfPrincipal(caller, key);
    await this.creators.assertWithinSites(caller, key);
  }

  private assertRotatable(key: ApiKey): void {
    assertActive(key, this.clock.now());
    if (key.principalId !== null) throw new KeyOwnedByServicePrincipal();
  }
}

/** @throws ApiKeyNotActive */
export function assertActive(key: ApiKey, now: Date): void {
  if (currentStatus(key, now) !== 'active') throw new ApiKeyNotActive();
}

function creatorLacks(required: readonly string[]): PermissionNotDelegable {
  return new PermissionNotDelegable(undefined, {
    message: `The creator of this key does not have ${required.join(', ')}, so the key would not work`,
    extras: { required },
  });
}

/** Keys of service principals are organization-wide. @throws SiteRestricted @see docs/reference/keys.md */
function assertNotOfPrincipal(caller: UserCaller, { principalId }: ApiKey): void {
  if (principalId !== null && isSiteRestricted(caller)) throw new SiteRestricted();
}
