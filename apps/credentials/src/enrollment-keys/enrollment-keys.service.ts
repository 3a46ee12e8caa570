import { Inject, Injectable } from '@nestjs/common';
import {
  assertManagesSite,
  OrganizationDirectory,
  toActingCaller,
  type DirectoryOrganization,
  type UserCaller,
} from '@rmm/access';
import type { Actor, SiteState } from '@rmm/contracts';
import { AuditTrail, resourceOf } from '@rmm/messaging';
import { TenantDatabase, type WorkerTransaction } from '@rmm/persistence';
import { mintEnrollmentKey } from '@rmm/secrets';
import { Clock, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { CREDENTIALS_CONFIG, type CredentialsConfig } from '../config.js';
import type { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import type { CreatedEnrollmentKeyDto, DeletedEnrollmentKeyDto, EnrollmentKeyDto } from './dto/enrollment-key.dto.js';
import type { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import type { PurgedKeysDto } from './dto/purge-expired-keys.dto.js';
import type { RotateEnrollmentKeyDto } from './dto/rotate-enrollment-key.dto.js';
import { EnrollmentKeyIssuingService } from './enrollment-key-issuing.service.js';
import type { EnrollmentKey } from './enrollment-key.entity.js';
import { toCreatedEnrollmentKeyDto, toEnrollmentKeyDto } from './enrollment-key.mapper.js';
import { EnrollmentKeysRepository } from './enrollment-keys.repository.js';
import { checkedExpiry, keptExpiry } from './key-lifetime.policy.js';

/** Creates, reads, rotates and deletes enrollment keys for users. */
@Injectable()
export class EnrollmentKeysService {
  constructor(
    @Inject(CREDENTIALS_CONFIG) private readonly config: CredentialsConfig,
    private readonly repository: EnrollmentKeysRepository,
    private readonly issuing: EnrollmentKeyIssuingService,
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListEnrollmentKeysDto): Promise<Paged<EnrollmentKeyDto>> {
    if (query.orgId) await this.directory.assertOrganizationAccess(caller, query.orgId);
    const { rows, ...counted } = await this.repository.list(caller, query);
    const now = this.clock.now();
    return toPage(
      query,
      counted,
      rows.map((row) => toEnrollmentKeyDto(row, now)),
    );
  }

  async get(caller: UserCaller, id: string): Promise<EnrollmentKeyDto> {
    const row = await this.repository.get(caller, id);
    assertManagesSite(caller, row.siteId);
    return toEnrollmentKeyDto(row, this.clock.now());
  }

  async create(caller: UserCaller, dto: CreateEnrollmentKeyDto): Promise<CreatedEnrollmentKeyDto> {
    const organization = await this.resolveOrganization(caller, dto.orgId);
    assertManagesSite(caller, dto.siteId ?? null); // a key without site enrolls devices into any site of the organization
    const checked = await this.issuing.check(toActingCaller(caller), organization, dto);
    return this.tenants.transaction(caller, async (tx) => {
      const { row, key } = await this.issuing.issue(tx, caller, checked);
      return toCreatedEnrollmentKeyDto(row, this.clock.now(), key);
    });
  }

  /** Replaces the key and resets its usage count; the previous key stops working with the commit. */
  async rotate(caller: UserCaller, id: string, dto: RotateEnrollmentKeyDto): Promise<CreatedEnrollmentKeyDto> {
    const { key, keyHash } = mintEnrollmentKey(this.config.enrollmentPeppers.current);
    const { partnerId } = await this.repository.get(caller, id);
    const rules = await this.issuing.lifetimeRules(partnerId);
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.repository.lock(tx, id);
      assertManagesSite(caller, before.siteId);
      const expiresAt = dto.expiresAt ? checkedExpiry(dto.expiresAt, rules) : keptExpiry(before.expiresAt, rules);
      const maxUsage = dto.maxUsage === undefined ? before.maxUsage : dto.maxUsage;
      const after = await this.repository.rotate(tx, id, { keyHash, maxUsage, expiresAt });
      const details = { before: allowance(before), after: allowance(after) };
      await this.audit.record(tx, caller, 'enrollment_key.rotate', resourceOf('enrollment_key', after), details);
      return toCreatedEnrollmentKeyDto(after, this.clock.now(), key);
    });
  }

  async delete(caller: UserCaller, id: string): Promise<DeletedEnrollmentKeyDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      assertManagesSite(caller, row.siteId);
      await this.repository.remove(tx, id);
      await this.audit.record(tx, caller, 'enrollment_key.delete', resourceOf('enrollment_key', row), allowance(row));
      return { success: true, message: 'Enrollment key deleted' };
    });
  }

  /** Deletes the keys that are pinned to a deleted site; the entries name who deleted the site. */
  async deleteOfSite(tx: WorkerTransaction, { siteId, orgId, partnerId }: SiteState, actor: Actor): Promise<void> {
    const caller = { actor, tenant: { partnerId, orgId } };
    for (const key of await this.repository.removeOfSite(tx, { siteId, orgId, partnerId })) {
      const details = { ...allowance(key), siteId, reason: 'site_deleted' };
      await this.audit.record(tx, caller, 'enrollment_key.delete', resourceOf('enrollment_key', key), details);
    }
  }

  async purgeExpired(caller: UserCaller, requestedOrgId: string | undefined): Promise<PurgedKeysDto> {
    const { orgId, partnerId } = await this.resolveOrganization(caller, requestedOrgId);
    return this.tenants.transaction(caller, async (tx) => {
      const deletedIds = await this.repository.removeExpired(tx, caller, orgId);
      const deletedCount = deletedIds.length;
      const purged = { type: 'enrollment_key', orgId, partnerId };
      await this.audit.record(tx, caller, 'enrollment_key.purge_expired', purged, { deletedCount, deletedIds });
      return { success: true, deletedCount };
    });
  }

  /** @throws ValidationError when none is given and the caller belongs to none; OrganizationAccessDenied */
  private resolveOrganization(caller: UserCaller, requestedOrgId: string | undefined): Promise<DirectoryOrganization> {
    const orgId = requestedOrgId ?? caller.orgId;
    if (!orgId) throw ValidationError.forField('orgId', 'is required');
    return this.directory.assertOrganizationAccess(caller, orgId);
  }
}

function allowance({ usageCount, maxUsage, expiresAt }: Pick<EnrollmentKey, 'usageCount' | 'maxUsage' | 'expiresAt'>) {
  return { usageCount, maxUsage, expiresAt };
}
