import { Inject, Injectable } from '@nestjs/common';
import { type Acting, type DirectoryOrganization, PartnerAccessDenied, PartnerDirectory } from '@rmm/access';
import { PROVISIONING_SITES_GET, type ActingCaller } from '@rmm/contracts';
import { AuditTrail, resourceOf, RpcClient } from '@rmm/messaging';
import type { TenantTransaction } from '@rmm/persistence';
import { hashKey, mintEnrollmentKey, mintOpaqueToken } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { CREDENTIALS_CONFIG, type CredentialsConfig } from '../config.js';
import { KeyLimitsRepository } from '../key-limits/key-limits.repository.js';
import type { EnrollmentKey } from './enrollment-key.entity.js';
import { SiteNotInOrganization } from './enrollment-key.errors.js';
import { EnrollmentKeysRepository, type NewEnrollmentKey } from './enrollment-keys.repository.js';
import { initialExpiry, type LifetimeRules } from './key-lifetime.policy.js';

export interface RequestedEnrollmentKey {
  siteId?: string;
  name: string;
  maxUsage?: number;
  expiresAt?: Date;
  ttlMinutes?: number;
}

/** A key that may be issued: what other services decide about is checked. */
export type CheckedEnrollmentKey = Omit<NewEnrollmentKey, 'keyHash' | 'secretHash' | 'createdBy'>;

/** A stored key with its raw key, which exists in no other place. */
export interface IssuedEnrollmentKey {
  row: EnrollmentKey;
  key: string;
  /** Null unless one was asked for. */
  secret: string | null;
}

/** Issues enrollment keys for users and partner keys. */
@Injectable()
export class EnrollmentKeyIssuingService {
  constructor(
    @Inject(CREDENTIALS_CONFIG) private readonly config: CredentialsConfig,
    private readonly repository: EnrollmentKeysRepository,
    private readonly limits: KeyLimitsRepository,
    private readonly partners: PartnerDirectory,
    private readonly rpc: RpcClient,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /**
   * Checks site and lifetime, before the transaction: other services are asked.
   * @throws SiteNotInOrganization; ValidationError and EnrollmentTtlExceedsCap for the lifetime; UnavailableError
   */
  async check(
    caller: ActingCaller,
    { orgId, partnerId }: DirectoryOrganization,
    requested: RequestedEnrollmentKey,
  ): Promise<CheckedEnrollmentKey> {
    const { siteId = null, name, maxUsage = 1 } = requested;
    if (siteId !== null) await this.assertSiteOfOrganization(caller, orgId, siteId);
    const rules = await this.lifetimeRules(partnerId);
    const expiresAt = initialExpiry(requested, {
      ...rules,
      defaultMinutes: this.config.enrollmentKeyDefaultTtlMinutes,
    });
    return { partnerId, orgId, siteId, name, maxUsage, expiresAt };
  }

  /** Mints, stores and audits the key. @throws KeyLimitExceeded */
  async issue(
    tx: TenantTransaction,
    acting: Acting,
    checked: CheckedEnrollmentKey,
    { withSecret = false }: { withSecret?: boolean } = {},
  ): Promise<IssuedEnrollmentKey> {
    await this.limits.assertBelowLimit(tx, 'enrollmentKey', checked.orgId);
    const { key, keyHash } = mintEnrollmentKey(this.config.enrollmentPeppers.current);
    const secret = withSecret ? mintOpaqueToken().key : null;
    const secretHash = secret === null ? null : hashKey(secret);
    const createdBy = acting.actor.type === 'user' ? acting.actor.id : null;
    const row = await this.repository.create(tx, { ...checked, keyHash, secretHash, createdBy });
    const { siteId, maxUsage, expiresAt } = checked;
    const details = { siteId, maxUsage, expiresAt, ...(withSecret && { enrollmentSecretIssued: true }) };
    await this.audit.record(tx, acting, 'enrollment_key.create', resourceOf('enrollment_key', row), details);
    return { row, key, secret };
  }

  /** @throws PartnerAccessDenied for an unknown partner; UnavailableError when its cap is not known */
  async lifetimeRules(partnerId: string): Promise<LifetimeRules> {
    const partner = await this.partners.find(partnerId);
    if (!partner) throw new PartnerAccessDenied();
    return { nowMs: this.clock.nowMs(), capMinutes: partner.enrollmentMaxTtlMinutes };
  }

  private async assertSiteOfOrganization(caller: ActingCaller, orgId: string, siteId: string): Promise<void> {
    const { site } = await this.rpc.call(PROVISIONING_SITES_GET, { caller, orgId, siteId });
    if (!site || site.deleted) throw new SiteNotInOrganization();
  }
}
