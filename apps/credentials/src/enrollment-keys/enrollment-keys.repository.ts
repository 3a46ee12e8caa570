import { Injectable } from '@nestjs/common';
import { managedSiteFilter, type UserCaller } from '@rmm/access';
import {
  TenantDatabase,
  TenantRepository,
  type PageRows,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { inLiveOrganization, liveOrganizations } from '../tenant-changes/live-organizations.repository.js';
import type { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import { EnrollmentKey } from './enrollment-key.entity.js';
import { EnrollmentKeyNotFound } from './enrollment-key.errors.js';

export type NewEnrollmentKey = Pick<
  EnrollmentKey,
  'partnerId' | 'orgId' | 'siteId' | 'name' | 'keyHash' | 'maxUsage' | 'expiresAt' | 'createdBy'
> &
  Partial<Pick<EnrollmentKey, 'secretHash'>>;

/** The properties of a deleted key that its audit entry names. */
export type RemovedEnrollmentKey = Pick<
  EnrollmentKey,
  'id' | 'name' | 'orgId' | 'partnerId' | 'usageCount' | 'maxUsage' | 'expiresAt'
>;

@Injectable()
export class EnrollmentKeysRepository extends TenantRepository<EnrollmentKey> {
  constructor(tenants: TenantDatabase) {
    super(tenants, EnrollmentKey, () => new EnrollmentKeyNotFound(), { ownership: 'organization' });
  }

  /** Lists a page of the keys of live organizations in the caller's sites, newest first. */
  list(caller: UserCaller, { orgId, expired, ...page }: ListEnrollmentKeysDto): Promise<PageRows<EnrollmentKey>> {
    const conditions = [
      inLiveOrganization('enrollmentKey'),
      expired !== undefined && { sql: '(enrollmentKey.expiresAt <= now()) = :expired', params: { expired } },
    ];
    return this.listPage(caller, {
      where: { orgId, siteId: managedSiteFilter(caller) ?? undefined },
      conditions,
      organizations: liveOrganizations('enrollmentKey'),
      page,
    });
  }

  /** @throws EnrollmentKeyNotFound */
  get(caller: UserCaller, id: string): Promise<EnrollmentKey> {
    return this.getOne(caller, { where: { id } });
  }

  /** Locks the key against enrollments, rotation and deletion until the transaction ends. @throws EnrollmentKeyNotFound */
  lock(tx: TenantTransaction, id: string): Promise<EnrollmentKey> {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }

  create(tx: TenantTransaction, key: NewEnrollmentKey): Promise<EnrollmentKey> {
    return this.insert(tx, key);
  }

  /** Replaces the key. Uses reserved from the previous generation do not count for the new one. */
  rotate(
    tx: TenantTransaction,
    id: string,
    next: Pick<EnrollmentKey, 'keyHash' | 'maxUsage' | 'expiresAt'>,
  ): Promise<EnrollmentKey> {
    return this.updateOne(tx, { id }, { ...next, usageCount: 0, generation: () => 'generation + 1' });
  }

  async remove(tx: TenantTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }

  /** Deletes the expired keys of an organization within the caller's sites. @returns their ids */
  async removeExpired(tx: TenantTransaction, caller: UserCaller, orgId: string): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `DELETE FROM enrollment_key
       WHERE org_id = :orgId AND expires_at <= now() AND (:siteIds::uuid[] IS NULL OR site_id = ANY(:siteIds))
       RETURNING id`,
      { orgId, siteIds: managedSiteFilter(caller) },
    );
    return rows.map((row) => row.id);
  }

  /** Deletes the keys that are pinned to a site, without a caller. @returns them */
  async removeOfSite(
    tx: WorkerTransaction,
    { siteId, orgId, partnerId }: Record<'siteId' | 'orgId' | 'partnerId', string>,
  ): Promise<RemovedEnrollmentKey[]> {
    return tx.query<RemovedEnrollmentKey>(
      `DELETE FROM enrollment_key WHERE site_id = :siteId AND org_id = :orgId AND partner_id = :partnerId
       RETURNING id, name, org_id AS "orgId", partner_id AS "partnerId", usage_count AS "usageCount",
         max_usage AS "maxUsage", expires_at AS "expiresAt"`,
      { siteId, orgId, partnerId },
    );
  }
}
