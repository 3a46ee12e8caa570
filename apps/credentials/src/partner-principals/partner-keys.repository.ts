import { Injectable } from '@nestjs/common';
import { TenantDatabase, TenantRepository, type Source, type TenantTransaction } from '@rmm/persistence';
import { PartnerKey } from './partner-key.entity.js';
import { PartnerKeyNotFound } from './partner-principal.errors.js';

/** Revoked keys that are shown with a principal. */
export const SHOWN_REVOKED_KEYS = 20;

const IS_SHOWN = {
  sql: `partnerKey.status = 'active' OR partnerKey.id IN (
    SELECT id FROM partner_principal_key WHERE principal_id = partnerKey.principalId AND status = 'revoked'
    ORDER BY revoked_at DESC, id LIMIT ${SHOWN_REVOKED_KEYS})`,
};

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

  /** Lists the active keys of principals and the last revoked ones of each, oldest first. */
  listOfPrincipals(source: Source, principalIds: string[]): Promise<PartnerKey[]> {
    return this.findMany(source, { where: { principalId: principalIds }, conditions: [IS_SHOWN], sort: OLDEST_FIRST });
  }

  create(tx: TenantTransaction, key: NewPartnerKey): Promise<PartnerKey> {
    return this.insert(tx, key);
  }

  /** @throws PartnerKeyNotFound */
  lock(tx: TenantTransaction, principalId: string, id: string): Promise<PartnerKey> {
    return this.getOne(tx, { where: { id, principalId }, hidden: ['keyHash'], lock: 'FOR UPDATE' });
  }

  /** Lists the active keys of a locked principal with their hashes, oldest first. */
  listActiveWithHashes(tx: TenantTransaction, principalId: string): Promise<PartnerKey[]> {
    return this.findMany(tx, { where: { principalId, status: 'active' }, hidden: ['keyHash'], sort: OLDEST_FIRST });
  }

  async revoke(tx: TenantTransaction, id: string): Promise<void> {
    await this.updateOne(tx, { id }, { status: 'revoked', revokedAt: () => 'now()' });
  }
}
