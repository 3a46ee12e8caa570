import { Inject, Injectable } from '@nestjs/common';
import { assertSite, OrganizationDirectory, type UserCaller } from '@rmm/access';
import { PROVISIONING_SITES_GET, type Page } from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { Tenants } from '@rmm/persistence';
import { mintEnrollmentKey } from '@rmm/secrets';
import { Clock, ValidationError, toPage } from '@rmm/service-kit';
import { CREDENTIALS_CONFIG, type CredentialsConfig } from '../config.js';
import type { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import { toEnrollmentKeyDto, type CreatedEnrollmentKeyDto, type EnrollmentKeyDto } from './dto/enrollment-key.dto.js';
import type { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import { EnrollmentTtlExceedsCap } from './enrollment-key.errors.js';
import type { EnrollmentKey } from './enrollment-key.entity.js';
import { EnrollmentKeysRepository } from './enrollment-keys.repository.js';

const MINUTE_MS = 60_000;

@Injectable()
export class EnrollmentKeysService {
  constructor(
    @Inject(CREDENTIALS_CONFIG) private readonly config: CredentialsConfig,
    private readonly repository: EnrollmentKeysRepository,
    private readonly tenants: Tenants,
    private readonly directory: OrganizationDirectory,
    private readonly rpc: RpcClient,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListEnrollmentKeysDto): Promise<Page<EnrollmentKeyDto>> {
    if (query.orgId) await this.directory.assertReachable(caller, query.orgId);
    const { rows, total } = await this.repository.list(caller, query);
    const now = this.clock.now();
    return toPage(
      query,
      total,
      rows.map((row) => toEnrollmentKeyDto(row, now)),
    );
  }

  async get(caller: UserCaller, id: string): Promise<EnrollmentKeyDto> {
    return toEnrollmentKeyDto(await this.repository.get(caller, id), this.clock.now());
  }

  async create(caller: UserCaller, dto: CreateEnrollmentKeyDto): Promise<CreatedEnrollmentKeyDto> {
    const orgId = dto.orgId ?? caller.orgId;
    if (!orgId) throw ValidationError.of('orgId', 'is required');
    const organization = await this.directory.assertReachable(caller, orgId);
    // A key without site lets devices into any site of the organisation.
    assertSite(caller, dto.siteId ?? null);
    if (dto.siteId) await this.assertSiteOf(orgId, dto.siteId);
    const expiresAt = await this.expiry(caller, organization.partnerId, dto);
    const { key, keyHash } = mintEnrollmentKey(this.config.enrollmentPeppers.current);
    return this.tenants.run(caller, async (tx) => {
      const row = await this.repository.insert(tx, {
        partnerId: organization.partnerId,
        orgId,
        siteId: dto.siteId ?? null,
        name: dto.name,
        keyHash,
        maxUsage: dto.maxUsage ?? 1,
        expiresAt,
        createdBy: caller.userId,
      });
      const details = { siteId: row.siteId, maxUsage: row.maxUsage, expiresAt: row.expiresAt };
      await this.audit.add(tx, caller, 'enrollment_key.create', resource(row), details);
      return { ...toEnrollmentKeyDto(row, this.clock.now()), key };
    });
  }

  async delete(caller: UserCaller, id: string): Promise<{ success: true; message: string }> {
    return this.tenants.run(caller, async (tx) => {
      const row = await this.repository.delete(tx, id);
      await this.audit.add(tx, caller, 'enrollment_key.delete', resource(row), { usageCount: row.usageCount });
      return { success: true, message: 'Enrollment key deleted' };
    });
  }

  /** @throws ValidationError naming siteId */
  private async assertSiteOf(orgId: string, siteId: string): Promise<void> {
    const { site } = await this.rpc.call(PROVISIONING_SITES_GET, { orgId, siteId });
    if (!site || site.deleted) throw ValidationError.of('siteId', 'is not a site of this organisation');
  }

  /** Input over the partner's cap is refused; the default is clamped to it. */
  private async expiry(caller: UserCaller, partnerId: string, dto: CreateEnrollmentKeyDto): Promise<Date> {
    if (dto.ttlMinutes !== undefined && dto.expiresAt !== undefined) {
      throw ValidationError.of('ttlMinutes', 'cannot stand beside expiresAt');
    }
    const cap = await this.repository.maxTtlMinutes(caller, partnerId);
    const nowMs = this.clock.nowMs();
    const latestMs = cap === null ? Infinity : nowMs + cap * MINUTE_MS;
    if (dto.ttlMinutes === undefined && dto.expiresAt === undefined) {
      return new Date(Math.min(nowMs + this.config.enrollmentKeyDefaultTtlMinutes * MINUTE_MS, latestMs));
    }
    const chosenMs = dto.expiresAt ? dto.expiresAt.getTime() : nowMs + (dto.ttlMinutes ?? 0) * MINUTE_MS;
    if (chosenMs <= nowMs) throw ValidationError.of('expiresAt', 'lies in the past');
    if (chosenMs > latestMs)
      throw new EnrollmentTtlExceedsCap(undefined, { message: `The partner allows at most ${cap} minutes` });
    return new Date(chosenMs);
  }
}

const resource = (row: EnrollmentKey) => ({
  type: 'enrollment_key',
  id: row.id,
  name: row.name,
  orgId: row.orgId,
  partnerId: row.partnerId,
});
