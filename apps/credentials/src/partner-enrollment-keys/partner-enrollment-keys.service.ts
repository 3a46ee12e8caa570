import { Injectable } from '@nestjs/common';
import { actingOf, type DirectoryOrganization, OrganizationDirectory } from '@rmm/access';
import type { CreatedEnrollmentKey, PartnerEnrollmentKeyCreateRequest } from '@rmm/contracts';
import { Idempotency, type ResponseSeal, TenantDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import {
  EnrollmentKeyIssuingService,
  type CheckedEnrollmentKey,
  type IssuedEnrollmentKey,
} from '../enrollment-keys/enrollment-key-issuing.service.js';
import { EnrollmentTtlExceedsCap, SiteNotInOrganization } from '../enrollment-keys/enrollment-key.errors.js';
import { PartnerPrincipalsRepository } from '../partner-principals/partner-principals.repository.js';
import {
  PartnerPrincipalRestrictionsRequired,
  PartnerProvisioningSiteMismatch,
  PartnerProvisioningTtlExceedsCap,
} from './partner-enrollment-key.errors.js';
import { responseSeal } from './response-seal.js';

/**
 * Creates enrollment keys for partner keys, in the same way as for users. The response of a request with an idempotency key
 * is stored sealed, in the transaction of the key.
 * @see docs/reference/partner-interface.md
 */
@Injectable()
export class PartnerEnrollmentKeysService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly principals: PartnerPrincipalsRepository,
    private readonly issuing: EnrollmentKeyIssuingService,
    private readonly idempotency: Idempotency,
    private readonly keyRing: KeyRing,
  ) {}

  /**
   * @throws PartnerPrincipalRestrictionsRequired, OrganizationAccessDenied, PartnerProvisioningSiteMismatch,
   *   PartnerProvisioningTtlExceedsCap, KeyLimitExceeded; ValidationError for the lifetime; what `Idempotency.once` throws;
   *   UnavailableError when provisioning or identity cannot be asked
   */
  async create(request: PartnerEnrollmentKeyCreateRequest): Promise<CreatedEnrollmentKey> {
    const acting = actingOf(request.caller);
    if (
      request.requireRestrictedPrincipal &&
      !(await this.principals.isRestricted(acting, request.caller.principalId))
    ) {
      throw new PartnerPrincipalRestrictionsRequired();
    }
    const organization = await this.directory.assertOrganizationAccess(acting, request.orgId);
    const seal = request.idempotency ? responseSeal(this.keyRing, request.idempotency.id) : undefined;
    const replay = await this.findReplay(request, seal);
    if (replay) return replay;
    const checked = await this.check(request, organization);
    return this.tenants.transaction(acting, (tx) =>
      this.idempotency.once(
        tx,
        async () => toReply(await this.issuing.issue(tx, acting, checked, { withSecret: request.issueSecret })),
        seal,
      ),
    );
  }

  /** Returns the stored response, so that a site deleted since, or a lower cap, does not refuse what was carried out. */
  private async findReplay(
    { caller, idempotency }: PartnerEnrollmentKeyCreateRequest,
    seal: ResponseSeal | undefined,
  ): Promise<CreatedEnrollmentKey | null> {
    if (idempotency === null) return null;
    const replay = await this.tenants.transaction(actingOf(caller), (tx) =>
      this.idempotency.findReplay<CreatedEnrollmentKey>(tx, seal),
    );
    return replay?.response ?? null;
  }

  private async check(
    { caller, siteId, name, maxUsage, ttlMinutes, expiresAt }: PartnerEnrollmentKeyCreateRequest,
    organization: DirectoryOrganization,
  ): Promise<CheckedEnrollmentKey> {
    try {
      return await this.issuing.check(caller, organization, {
        siteId: siteId ?? undefined,
        name,
        maxUsage,
        ttlMinutes: ttlMinutes ?? undefined,
        expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
      });
    } catch (error) {
      if (error instanceof SiteNotInOrganization) throw new PartnerProvisioningSiteMismatch();
      if (error instanceof EnrollmentTtlExceedsCap)
        throw new PartnerProvisioningTtlExceedsCap(undefined, { message: error.sentence });
      throw error;
    }
  }
}

const toReply = ({ row, key, secret }: IssuedEnrollmentKey): CreatedEnrollmentKey => ({
  id: row.id,
  orgId: row.orgId,
  siteId: row.siteId,
  name: row.name,
  usageCount: row.usageCount,
  maxUsage: row.maxUsage,
  expiresAt: row.expiresAt.toISOString(),
  createdAt: row.createdAt.toISOString(),
  key,
  enrollmentSecret: secret,
});
