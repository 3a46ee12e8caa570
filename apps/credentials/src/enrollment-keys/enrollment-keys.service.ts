import { Inject, Injectable } from '@nestjs/common';
import { assertSite, OrganizationDirectory, type DirectoryOrganization, type UserCaller } from '@rmm/access';
import { PROVISIONING_SITES_GET } from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { TenantDatabase, type SqlExecutor } from '@rmm/persistence';
import { mintEnrollmentKey } from '@rmm/secrets';
import { Clock, ValidationError, toPage, type Paged } from '@rmm/service-kit';
import { CREDENTIALS_CONFIG, type CredentialsConfig } from '../config.js';
import type { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import {
  toCreatedEnrollmentKeyDto,
  toEnrollmentKeyDto,
  type CreatedEnrollmentKeyDto,
  type DeletedEnrollmentKeyDto,
  type EnrollmentKeyDto,
} from './dto/enrollment-key.dto.js';
import type { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import type { PurgedKeysDto } from './dto/purge-expired-keys.dto.js';
import type { RotateEnrollmentKeyDto } from './dto/rotate-enrollment-key.dto.js';
import type { EnrollmentKey } from './enrollment-key.entity.js';
import { EnrollmentKeysRepository } from './enrollment-keys.repository.js';
import { checkedExpiry, firstExpiry, type LifetimeRules } from './key-lifetime.js';

@Injectable()
export class EnrollmentKeysService {
  constructor(
    @Inject(CREDENTIALS_CONFIG) private readonly config: CredentialsConfig,
    private readonly repository: EnrollmentKeysRepository,
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly rpc: RpcClient,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListEnrollmentKeysDto): Promise<Paged<EnrollmentKeyDto>> {
    if (query.orgId) await this.directory.assertOrganizationAccess(caller, query.orgId);
    const { rows, total } = await this.repository.list(caller, query);
    return toPage(query, total, rows.map(toEnrollmentKeyDto));
  }

  async get(caller: UserCaller, id: string): Promise<EnrollmentKeyDto> {
    const row = await this.repository.get(caller, id);
    assertSite(caller, row.siteId);
    return toEnrollmentKeyDto(row);
  }

  async create(caller: UserCaller, dto: CreateEnrollmentKeyDto): Promise<CreatedEnrollmentKeyDto> {
    const { orgId, partnerId } = await this.organizationOf(caller, dto.orgId);
    const siteId = dto.siteId ?? null;
    // A key without site lets devices into any site of the organization.
    assertSite(caller, siteId);
    if (siteId) await this.assertSiteOf(orgId, siteId);
    const rules = await this.lifetimeRules(this.tenants.reader(caller), partnerId);
    const expiresAt = firstExpiry(dto, { ...rules, defaultMinutes: this.config.enrollmentKeyDefaultTtlMinutes });
    const { key, keyHash } = mintEnrollmentKey(this.config.enrollmentPeppers.current);
    const { name, maxUsage = 1 } = dto;
    return this.tenants.transaction(caller, async (tx) => {
      const given = { partnerId, orgId, siteId, name, keyHash, maxUsage, expiresAt, createdBy: caller.userId };
      const row = await this.repository.insert(tx, given);
      await this.audit.record(tx, caller, 'enrollment_key.create', resource(row), { siteId, maxUsage, expiresAt });
      return toCreatedEnrollmentKeyDto(row, key);
    });
  }

  /** A new key in place of the old one, which is dead once this is committed; its uses are counted anew. */
  async rotate(caller: UserCaller, id: string, dto: RotateEnrollmentKeyDto): Promise<CreatedEnrollmentKeyDto> {
    const { key, keyHash } = mintEnrollmentKey(this.config.enrollmentPeppers.current);
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.repository.lock(tx, id);
      assertSite(caller, before.siteId);
      const expiresAt = dto.expiresAt
        ? checkedExpiry(dto.expiresAt, await this.lifetimeRules(tx, before.partnerId))
        : before.expiresAt;
      const maxUsage = dto.maxUsage === undefined ? before.maxUsage : dto.maxUsage;
      const after = await this.repository.rotate(tx, id, { keyHash, maxUsage, expiresAt });
      const details = { before: allowance(before), after: allowance(after) };
      await this.audit.record(tx, caller, 'enrollment_key.rotate', resource(after), details);
      return toCreatedEnrollmentKeyDto(after, key);
    });
  }

  async delete(caller: UserCaller, id: string): Promise<DeletedEnrollmentKeyDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertSite(caller, row.siteId);
      await this.repository.delete(tx, id);
      await this.audit.record(tx, caller, 'enrollment_key.delete', resource(row), allowance(row));
      return { success: true, message: 'Enrollment key deleted' };
    });
  }

  async purgeExpired(caller: UserCaller, asked: string | undefined): Promise<PurgedKeysDto> {
    const { orgId, partnerId } = await this.organizationOf(caller, asked);
    return this.tenants.transaction(caller, async (tx) => {
      const deletedIds = await this.repository.deleteExpired(tx, caller, orgId);
      const deletedCount = deletedIds.length;
      const purged = { type: 'enrollment_key', orgId, partnerId };
      await this.audit.record(tx, caller, 'enrollment_key.purge_expired', purged, { deletedCount, deletedIds });
      return { success: true, deletedCount };
    });
  }

  /** @throws ValidationError  when none is named and the caller has none of its own; OrganizationAccessDenied */
  private organizationOf(caller: UserCaller, asked: string | undefined): Promise<DirectoryOrganization> {
    const orgId = asked ?? caller.orgId;
    if (!orgId) throw ValidationError.of('orgId', 'is required');
    return this.directory.assertOrganizationAccess(caller, orgId);
  }

  /** @throws ValidationError naming siteId */
  private async assertSiteOf(orgId: string, siteId: string): Promise<void> {
    const { site } = await this.rpc.call(PROVISIONING_SITES_GET, { orgId, siteId });
    if (!site || site.deleted) throw ValidationError.of('siteId', 'is not a site of this organization');
  }

  private async lifetimeRules(db: SqlExecutor, partnerId: string): Promise<LifetimeRules> {
    return { nowMs: this.clock.nowMs(), capMinutes: await this.repository.maxTtlMinutes(db, partnerId) };
  }
}

/** What a key is good for, and how much of it is gone. */
const allowance = ({ usageCount, maxUsage, expiresAt }: EnrollmentKey) => ({ usageCount, maxUsage, expiresAt });

const resource = (row: EnrollmentKey) => ({
  type: 'enrollment_key',
  id: row.id,
  name: row.name,
  orgId: row.orgId,
  partnerId: row.partnerId,
});
