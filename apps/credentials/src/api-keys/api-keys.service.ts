import { Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import { CREDENTIAL_CHANGED, type CredentialChanged, type Page } from '@rmm/contracts';
import { AuditTrail, Outbox, type OutgoingMessage } from '@rmm/messaging';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { Tenants } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { Clock, ValidationError, toPage } from '@rmm/service-kit';
import { assertKnownScopes, assertMayGrant } from '../scope-checks.js';
import { ApiKeyAlreadyRevoked } from './api-key.errors.js';
import type { ApiKey } from './api-key.entity.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import { toApiKeyDto, toCreatedApiKeyDto, type ApiKeyDto, type CreatedApiKeyDto } from './dto/api-key.dto.js';
import type { CreateApiKeyDto } from './dto/create-api-key.dto.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';

export interface RevokedApiKeyDto {
  success: true;
  message: string;
  apiKey: { id: string; name: string; keyPrefix: string; status: 'revoked'; updatedAt: string };
}

const DEFAULT_RATE_LIMIT = 1_000; // requests per hour

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly tenants: Tenants,
    private readonly directory: OrganizationDirectory,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListApiKeysDto): Promise<Page<ApiKeyDto>> {
    if (query.orgId) await this.directory.assertReachable(caller, query.orgId);
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

  async create(caller: UserCaller, dto: CreateApiKeyDto): Promise<CreatedApiKeyDto> {
    const scopes = dto.scopes ?? [];
    assertKnownScopes(scopes, API_KEY_SCOPES);
    assertMayGrant(caller, scopes, API_KEY_SCOPES);
    if (dto.expiresAt && dto.expiresAt <= this.clock.now()) throw ValidationError.of('expiresAt', 'lies in the past');
    const organization = await this.directory.assertReachable(caller, dto.orgId);
    const { key, keyPrefix, keyHash } = mintApiKey();
    return this.tenants.run(caller, async (tx) => {
      const row = await this.repository.insert(tx, {
        partnerId: organization.partnerId,
        orgId: dto.orgId,
        name: dto.name,
        keyPrefix,
        keyHash,
        scopes,
        expiresAt: dto.expiresAt ?? null,
        rateLimit: dto.rateLimit ?? DEFAULT_RATE_LIMIT,
        createdBy: caller.userId,
      });
      await this.audit.add(tx, caller, 'api_key.create', resource(row), { keyPrefix, scopes });
      await this.outbox.add(tx, changed(row, keyHash, 'created'));
      return toCreatedApiKeyDto(row, key);
    });
  }

  async revoke(caller: UserCaller, id: string): Promise<RevokedApiKeyDto> {
    return this.tenants.run(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      if (row.status === 'revoked') throw new ApiKeyAlreadyRevoked();
      const updatedAt = await this.repository.revoke(tx, id);
      await this.audit.add(tx, caller, 'api_key.revoke', resource(row), { keyPrefix: row.keyPrefix });
      await this.outbox.add(tx, changed(row, row.keyHash, 'revoked'));
      const { name, keyPrefix } = row;
      return {
        success: true,
        message: 'API key revoked',
        apiKey: { id, name, keyPrefix, status: 'revoked', updatedAt: updatedAt.toISOString() },
      };
    });
  }
}

const resource = (row: ApiKey) => ({
  type: 'api_key',
  id: row.id,
  name: row.name,
  orgId: row.orgId,
  partnerId: row.partnerId,
});

const changed = (row: ApiKey, keyHash: Buffer, reason: CredentialChanged['reason']): OutgoingMessage => ({
  stream: 'broadcast',
  type: CREDENTIAL_CHANGED,
  aggregateId: row.id,
  partnerId: row.partnerId,
  orgId: row.orgId,
  data: { kind: 'api_key', keyIds: [row.id], keyHashes: [keyHash.toString('hex')], reason } satisfies CredentialChanged,
});
