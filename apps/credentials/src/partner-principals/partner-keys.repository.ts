import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, TenantRepository, type TenantTransaction } from '@rmm/persistence';
import { PartnerKey } from './partner-key.entity.js';
import { PartnerKeyNotFound } from './partner-principal.errors.js';

const OLDEST_FIRST = { createdAt: 'ASC', id: 'ASC' } as const;

export type NewPartnerKey = Pick<
  PartnerKey,
  'principalId' | 'partnerId' | 'name' | 'keyPrefix' | 'keyHash' | 'expiresAt' | 'rateLimit' | 'createdBy'
> &
  Partial<Pick<PartnerKey, 'rotatedFromId'>>;

@Injectable()
export class PartnerKeysRepository extends TenantRepository<PartnerKey> {
  constructor(tenants: TenantDatabase) {
    super(tenants, PartnerKey, () => new PartnerKeyNotFound(), { ownership: 'partner' });
  }

  /** Lists the keys of principals, oldest first, whatever their status. */
  listOfPrincipals(caller: UserCaller, principalIds: string[]): Promise<PartnerKey[]> {
    return this.findMany(caller, { where: { principalId: principalIds }, sort: OLDEST_FIRST });
  }

  create(tx: TenantTransaction, key: NewPartnerKey): Promise<PartnerKey> {
    return this.insert(tx, key);
  }

  /** @throws PartnerKeyNotFound */
  lock(tx: TenantTransaction, principalId: string, id: string): Promise<PartnerKey> {
    return this.getOne(tx, { where: { id, principalId }, hidden: ['keyHash'], lock: 'FOR UPDATE' });
  }

  /** Lists all keys of a locked principal with their hashes, oldest first. */
  listWithHashes(tx: TenantTransaction, principalId: string): Promise<PartnerKey[]> {
    return this.findMany(tx, { where: { principalId }, hidden: ['keyHash'], sort: OLDEST_FIRST });
  }

  async revoke(tx: TenantTransaction, id: string): Promise<void> {
    await this.updateOne(tx, { id }, { status: 'revoked', revokedAt: () => 'now()' });
  }
}
