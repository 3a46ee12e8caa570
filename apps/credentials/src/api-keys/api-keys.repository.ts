import { Injectable } from '@nestjs/common';
import { Any, Not } from 'typeorm';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, TenantRepository, type PageRows, type TenantTransaction } from '@rmm/persistence';
import { inLiveOrganization, liveOrganizations } from '../tenant-changes/live-organizations.repository.js';
import { ApiKey } from './api-key.entity.js';
import { ApiKeyNotFound } from './api-key.errors.js';
import type { ListApiKeysDto } from './dto/list-api-keys.dto.js';

/** The hashes that caches and look-ups identify a key by. */
export const KEY_HASHES = ['keyHash', 'previousKeyHash'] as const;

/** The stored status, or `expired` once `expires_at` has passed. */
const CURRENT_STATUS = `CASE WHEN apiKey.status = 'active' AND apiKey.expiresAt <= now() THEN 'expired' ELSE apiKey.status END`;

export type NewApiKey = Partial<ApiKey> &
  Pick<ApiKey, 'partnerId' | 'orgId' | 'name' | 'keyPrefix' | 'keyHash' | 'scopes' | 'rateLimit'>;

@Injectable()
export class ApiKeysRepository extends TenantRepository<ApiKey> {
  constructor(tenants: TenantDatabase) {
    super(tenants, ApiKey, () => new ApiKeyNotFound(), { ownership: 'organization' });
  }

  /** Lists a page of the keys of live organizations, newest first. */
  list(caller: UserCaller, { orgId, status, ...page }: ListApiKeysDto): Promise<PageRows<ApiKey>> {
    const isInStatus = status && { sql: `${CURRENT_STATUS} = :status`, params: { status } };
    return this.listPage(caller, {
      where: { orgId },
      conditions: [inLiveOrganization('apiKey'), isInStatus],
      organizations: liveOrganizations('apiKey'),
      page,
    });
  }

  /** @throws ApiKeyNotFound */
  get(caller: UserCaller, id: string): Promise<ApiKey> {
    return this.getOne(caller, { where: { id } });
  }

  create(tx: TenantTransaction, key: NewApiKey): Promise<ApiKey> {
    return this.insert(tx, { ...key, source: key.principalId ? 'service_principal' : 'manual' });
  }

  /** Locks the row until the transaction ends. @throws ApiKeyNotFound */
  lock(tx: TenantTransaction, id: string): Promise<ApiKey> {
    return this.getOne(tx, { where: { id }, hidden: KEY_HASHES, lock: 'FOR UPDATE' });
  }

  change(tx: TenantTransaction, id: string, changes: Partial<ApiKey>): Promise<ApiKey> {
    return this.updateOne(tx, { id }, changes);
  }

  /** Replaces the key and resets its usage counters; the previous key works for `overlapSeconds` more. */
  rotate(
    tx: TenantTransaction,
    id: string,
    { overlapSeconds, ...next }: Pick<ApiKey, 'keyPrefix' | 'keyHash'> & { overlapSeconds: number },
  ): Promise<ApiKey> {
    const overlaps = overlapSeconds > 0;
    const changes = {
      ...next,
      generation: () => 'generation + 1',
      usageCount: '0',
      lastUsedAt: null,
      previousKeyHash: overlaps ? () => 'key_hash' : null,
      previousValidUntil: overlaps ? () => 'now() + make_interval(secs => :overlapSeconds)' : null,
    };
    return this.updateOne(tx, { id }, changes, overlaps ? { overlapSeconds } : {});
  }

  /** Revokes keys, their predecessors included. @returns those that were not revoked before */
  revoke(tx: TenantTransaction, ids: readonly string[]): Promise<ApiKey[]> {
    const ended = { status: 'revoked', previousKeyHash: null, previousValidUntil: null } as const;
    return this.update(tx, { id: Any(ids), status: Not('revoked') }, ended);
  }
}
