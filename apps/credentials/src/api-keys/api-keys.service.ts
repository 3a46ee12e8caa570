import { Injectable } from '@nestjs/common';
import { isSiteRestricted, OrganizationDirectory, type UserCaller } from '@rmm/access';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { Clock, ValidationError, toPage, type Paged } from '@rmm/service-kit';
import { assertKnownScopes, assertMayGrant, SiteRestricted } from '../scope-checks.js';
import { ApiKeyChanges, type HashedApiKey } from './api-key-changes.js';
import type { ApiKey } from './api-key.entity.js';
import { ApiKeyAlreadyRevoked, ApiKeyNotActive } from './api-key.errors.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import {
  statusAt,
  toApiKeyDto,
  toCreatedApiKeyDto,
  type ApiKeyDto,
  type CreatedApiKeyDto,
  type RevokedApiKeyDto,
} from './dto/api-key.dto.js';
import type { CreateApiKeyDto } from './dto/create-api-key.dto.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';
import type { UpdateApiKeyDto } from './dto/update-api-key.dto.js';

/** Requests per hour. */
export const DEFAULT_RATE_LIMIT = 1_000;

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly changes: ApiKeyChanges,
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
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
    const { scopes = [], expiresAt = null, rateLimit = DEFAULT_RATE_LIMIT, orgId, name } = dto;
    assertKnownScopes(scopes, API_KEY_SCOPES);
    assertMayGrant(caller, scopes, API_KEY_SCOPES);
    if (expiresAt && expiresAt <= this.clock.now()) throw ValidationError.of('expiresAt', 'lies in the past');
    const { partnerId } = await this.directory.assertOrganizationAccess(caller, orgId);
    const { key, keyPrefix, keyHash } = mintApiKey();
    const { sourceCidrs, expiryReminders } = dto;
    const given = { name, scopes, expiresAt, rateLimit, sourceCidrs, expiryReminders };
    return this.tenants.transaction(caller, async (tx) => {
      const owned = { partnerId, orgId, keyPrefix, keyHash, createdBy: caller.userId };
      const row = await this.repository.insert(tx, { ...given, ...owned });
      await this.changes.audit(tx, caller, 'api_key.create', row, { keyPrefix, scopes, expiresAt, rateLimit });
      await this.changes.announce(tx, [row], 'created');
      return toCreatedApiKeyDto(row, key);
    });
  }

  /** @throws ApiKeyNotActive 400; PermissionNotDelegable 403 for what is added to the scopes */
  async update(caller: UserCaller, id: string, dto: UpdateApiKeyDto): Promise<ApiKeyDto> {
    if (Object.keys(dto).length === 0) throw ValidationError.of('body', 'names no field to change');
    if (dto.scopes) assertKnownScopes(dto.scopes, API_KEY_SCOPES);
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertMayManage(caller, row);
      this.assertActive(row);
      const added = dto.scopes?.filter((scope) => !row.scopes.includes(scope)) ?? [];
      assertMayGrant(caller, added, API_KEY_SCOPES);
      const updated = await this.repository.update(tx, id, dto);
      const details = { ...dto, ...(dto.scopes && { previousScopes: row.scopes }) };
      await this.changes.audit(tx, caller, 'api_key.update', updated, details);
      await this.changes.announce(tx, [row], 'updated');
      return toApiKeyDto(updated, this.clock.now());
    });
  }

  /** @throws ApiKeyAlreadyRevoked 400 */
  revoke(caller: UserCaller, id: string): Promise<RevokedApiKeyDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertMayManage(caller, row);
      const [revoked] = await this.repository.revoke(tx, [id]);
      if (!revoked) throw new ApiKeyAlreadyRevoked();
      const { name, keyPrefix, updatedAt } = revoked;
      await this.changes.audit(tx, caller, 'api_key.revoke', revoked, { keyPrefix });
      await this.changes.announce(tx, [row], 'revoked');
      return {
        success: true,
        message: 'API key revoked',
        apiKey: { id, name, keyPrefix, status: 'revoked', updatedAt: updatedAt.toISOString() },
      };
    });
  }

  /** @throws ApiKeyNotActive */
  assertActive(row: Pick<HashedApiKey, 'status' | 'expiresAt'>): void {
    if (statusAt(row, this.clock.now()) !== 'active') throw new ApiKeyNotActive();
  }
}

/** What belongs to a service principal is organization-wide. @see CONTRACT.md 4.3 */
export function assertMayManage(caller: UserCaller, { principalId }: Pick<ApiKey, 'principalId'>): void {
  if (principalId !== null && isSiteRestricted(caller)) throw new SiteRestricted();
}
