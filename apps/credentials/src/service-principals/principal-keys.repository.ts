import { Injectable } from '@nestjs/common';
import type { TenantTransaction } from '@rmm/persistence';
import type { ApiKey } from '../api-keys/api-key.entity.js';
import { ApiKeysRepository, KEY_HASHES } from '../api-keys/api-keys.repository.js';

/** The API keys of service principals. */
@Injectable()
export class PrincipalKeysRepository extends ApiKeysRepository {
  /** Locks the keys of a principal that are stored as active. */
  lockActive(tx: TenantTransaction, principalId: string): Promise<ApiKey[]> {
    const where = { principalId, status: 'active' as const };
    return this.findMany(tx, { where, hidden: KEY_HASHES, sort: { id: 'ASC' }, lock: 'FOR UPDATE' });
  }

  /** Finds the active key of a principal, or the newest one when none is active. */
  async findNewest(tx: TenantTransaction, principalId: string): Promise<ApiKey | null> {
    const sort = { createdAt: 'DESC', id: 'DESC' } as const;
    const active = await this.findOne(tx, { where: { principalId, status: 'active' }, sort });
    return active ?? this.findOne(tx, { where: { principalId }, sort });
  }

  /** Makes a service principal the owner of a key, and ends the overlap with a key before it. */
  assign(tx: TenantTransaction, id: string, principalId: string, scopes: string[]): Promise<ApiKey> {
    const ended = { previousKeyHash: null, previousValidUntil: null };
    return this.updateOne(tx, { id }, { ...ended, principalId, source: 'service_principal', scopes });
  }
}
