import { Injectable } from '@nestjs/common';
import { isSiteRestricted, OrganizationDirectory, type UserCaller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { Clock, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { assertCanGrant, assertKnownScopes } from '../scopes/scope-grant.policy.js';
import { SiteRestricted } from '../scopes/scope.errors.js';
import type { ApiKey } from './api-key.entity.js';
import { ApiKeyAlreadyRevoked, ApiKeyNotActive, KeyOwnedByServicePrincipal } from './api-key.errors.js';
import { apiKeyResource, apiKeysChanged, currentStatus, toApiKeyDto, toCreatedApiKeyDto } from './api-key.mapper.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import {
  STORE_KEY_WARNING,
  type ApiKeyDto,
  type CreatedApiKeyDto,
  type RevokedApiKeyDto,
  type RotatedApiKeyDto,
} from './dto/api-key.dto.js';
import type { CreateApiKeyDto } from './dto/create-api-key.dto.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';
import type { RotateApiKeyDto } from './dto/rotate-api-key.dto.js';
import type { UpdateApiKeyDto } from './dto/update-api-key.dto.js';
import { KeyCreatorPolicy } from './key-creator.policy.js';

/** Requests per hour. */
export const DEFAULT_RATE_LIMIT = 1_000;

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly creators: KeyCreatorPolicy,
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListApiKeysDto): Promise<Paged<ApiKeyDto>> {
    if (query.orgId) await this.directory.assertOrganizationAccess(caller, query.orgId);
    const { rows, total } = await this.repository.list(caller, query);
    const now = this.clock.now();
    return toPage(
      query,
      total,
      rows.map((row) => toApiKeyDto(row, now)),
    );
  }

  async get(caller: UserCaller, id: string): Promise<ApiKeyDto> {
    return toApiKeyDto(await this.repository.get(caller, id), this.clock.now());
  }

  /** @throws WildcardScopeUnsupported, UnsupportedScope, ValidationError 400; PermissionNotDelegable 403 */
  async create(caller: UserCaller, dto: CreateApiKeyDto): Promise<CreatedApiKeyDto> {
    const { scopes = [], expiresAt = null, rateLimit = DEFAULT_RATE_LIMIT } = dto;
    assertKnownScopes(scopes, API_KEY_SCOPES);
    assertCanGrant(caller, scopes, API_KEY_SCOPES);
    if (expiresAt && expiresAt <= this.clock.now()) throw ValidationError.forField('expiresAt', 'lies in the past');
    const { partnerId } = await this.directory.assertOrganizationAccess(caller, dto.orgId);
    const { key, keyPrefix, keyHash } = mintApiKey();
    return this.tenants.transaction(caller, async (tx) => {
      const given = { ...dto, scopes, expiresAt, rateLimit };
      const row = await this.repository.create(tx, {
        ...given,
        partnerId,
        keyPrefix,
        keyHash,
        createdBy: caller.userId,
      });
      const details = { keyPrefix, scopes, expiresAt, rateLimit };
      await this.audit.record(tx, caller, 'api_key.create', apiKeyResource(row), details);
      await this.outbox.publish(tx, apiKeysChanged([row], 'created'));
      return toCreatedApiKeyDto(row, key);
    });
  }

  /** @throws ApiKeyNotActive 400; PermissionNotDelegable 403 for added scopes */
  async update(caller: UserCaller, id: string, dto: UpdateApiKeyDto): Promise<ApiKeyDto> {
    if (Object.keys(dto).length === 0) throw ValidationError.forField('body', 'names no field to change');
    if (dto.scopes) assertKnownScopes(dto.scopes, API_KEY_SCOPES);
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertCanManage(caller, row);
      assertActive(row, this.clock.now());
      const added = dto.scopes?.filter((scope) => !row.scopes.includes(scope)) ?? [];
      assertCanGrant(caller, added, API_KEY_SCOPES);
      const updated = await this.repository.change(tx, id, dto);
      const details = { ...dto, ...(dto.scopes && { previousScopes: row.scopes }) };
      await this.audit.record(tx, caller, 'api_key.update', apiKeyResource(updated), details);
      await this.outbox.publish(tx, apiKeysChanged([row], 'updated'));
      return toApiKeyDto(updated, this.clock.now());
    });
  }

  /** @throws ApiKeyAlreadyRevoked 400 */
  revoke(caller: UserCaller, id: string): Promise<RevokedApiKeyDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertCanManage(caller, row);
      const [revoked] = await this.repository.revoke(tx, [id]);
      if (!revoked) throw new ApiKeyAlreadyRevoked();
      const { name, keyPrefix, updatedAt } = revoked;
      await this.audit.record(tx, caller, 'api_key.revoke', apiKeyResource(revoked), { keyPrefix });
      await this.outbox.publish(tx, apiKeysChanged([row], 'revoked'));
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
      await this.audit.record(tx, caller, 'api_key.rotate', apiKeyResource(rotated), details);
      await this.outbox.publish(tx, apiKeysChanged([row], 'rotated'));
      return { ...toApiKeyDto(rotated, this.clock.now()), key, warning: STORE_KEY_WARNING };
    });
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

/** Keys of service principals are organization-wide. @throws SiteRestricted @see docs/reference/keys.md */
function assertCanManage(caller: UserCaller, { principalId }: ApiKey): void {
  if (principalId !== null && isSiteRestricted(caller)) throw new SiteRestricted();
}
