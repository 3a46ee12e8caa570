import { Injectable } from '@nestjs/common';
import { assertCanGrant, assertKnownScopes, OrganizationDirectory, type UserCaller } from '@rmm/access';
import { AuditTrail, Outbox, resourceOf } from '@rmm/messaging';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { Clock, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { KeyLimitsRepository } from '../key-limits/key-limits.repository.js';
import { apiKeyEvent } from './api-key.events.js';
import { apiKeysChanged, toApiKeyDto, toCreatedApiKeyDto } from './api-key.mapper.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import type { ApiKeyDto, CreateApiKeyDto, CreatedApiKeyDto } from './dto/api-key.dto.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';

export const DEFAULT_RATE_LIMIT = 1_000; // requests per hour

/** Creates and reads API keys; `ApiKeyLifecycleService` changes existing ones. */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly limits: KeyLimitsRepository,
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListApiKeysDto): Promise<Paged<ApiKeyDto>> {
    if (query.orgId) await this.directory.assertOrganizationAccess(caller, query.orgId);
    const { rows, ...counted } = await this.repository.list(caller, query);
    const items = rows.map((row) => toApiKeyDto(row, this.clock.now()));
    return toPage(query, counted, items);
  }

  async get(caller: UserCaller, id: string): Promise<ApiKeyDto> {
    return toApiKeyDto(await this.repository.get(caller, id), this.clock.now());
  }

  /** @throws WildcardScopeUnsupported, UnsupportedScope, ValidationError 400; PermissionNotDelegable 403; KeyLimitExceeded 409 */
  async create(caller: UserCaller, dto: CreateApiKeyDto): Promise<CreatedApiKeyDto> {
    const { scopes = [], expiresAt = null, rateLimit = DEFAULT_RATE_LIMIT } = dto;
    assertKnownScopes(scopes, API_KEY_SCOPES);
    assertCanGrant(caller, scopes, API_KEY_SCOPES);
    if (expiresAt && expiresAt <= this.clock.now()) throw ValidationError.forField('expiresAt', 'lies in the past');
    const { partnerId } = await this.directory.assertOrganizationAccess(caller, dto.orgId);
    const { key, keyPrefix, keyHash } = mintApiKey();
    return this.tenants.transaction(caller, async (tx) => {
      await this.limits.assertBelowLimit(tx, 'apiKey', dto.orgId);
      const owner = { partnerId, createdBy: caller.userId };
      const row = await this.repository.create(tx, { ...dto, ...owner, scopes, rateLimit, keyPrefix, keyHash });
      const details = { keyPrefix, scopes, expiresAt, rateLimit };
      await this.audit.record(tx, caller, 'api_key.create', resourceOf('api_key', row), details);
      await this.outbox.publish(tx, [
        apiKeyEvent('api_key.created', row, caller.actor),
        ...apiKeysChanged([row], 'created'),
      ]);
      return toCreatedApiKeyDto(row, key);
    });
  }
}
