import { Injectable } from '@nestjs/common';
import { type Acting, actingOf, type DirectoryPartner, PartnerAccessDenied, PartnerDirectory } from '@rmm/access';
import type {
  CreatedRecord,
  ExportedOrganization,
  ExportedSite,
  PartnerOrganizationCreateRequest,
  PartnerSiteCreateRequest,
} from '@rmm/contracts';
import { Idempotency, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { isTimeZone } from '@rmm/validation';
import type { Organization } from '../organizations/organization.entity.js';
import { OrganizationLimitExceeded, OrganizationSlugConflict } from '../organizations/organization.errors.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { OrganizationsService } from '../organizations/organizations.service.js';
import { organizationsLock } from '../partners/partners.repository.js';
import type { Site } from '../sites/site.entity.js';
import { SitesService } from '../sites/sites.service.js';
import { PartnerProvisioningLimitExceeded, PartnerProvisioningSlugConflict } from './partner-provisioning.errors.js';

/**
 * Creates organizations and sites for partner keys, in the same way as for users. The response of a request with an
 * idempotency key is stored in the transaction of its effect.
 * @see docs/reference/partner-interface.md
 */
@Injectable()
export class PartnerProvisioningService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly partners: PartnerDirectory,
    private readonly repository: OrganizationsRepository,
    private readonly organizations: OrganizationsService,
    private readonly sites: SitesService,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Checks the slug before the cap, so that a repeated run finds its organization also when the cap is reached.
   * @throws PartnerProvisioningSlugConflict, PartnerProvisioningLimitExceeded; PartnerAccessDenied for an unknown partner;
   *   UnavailableError when its cap is not known; what `Idempotency.once` throws
   */
  async createOrganization({
    caller,
    name,
    slug,
    type,
    status,
  }: PartnerOrganizationCreateRequest): Promise<CreatedRecord<ExportedOrganization>> {
    const acting = actingOf(caller);
    const partner = await this.getPartner(acting);
    const { partnerId } = partner;
    const create = async (tx: TenantTransaction) => {
      const existing = await this.repository.findIdBySlug(tx, partnerId, slug);
      if (existing !== null) throw new PartnerProvisioningSlugConflict(existing);
      return toOrganizationRecord(await this.organizations.add(tx, acting, partner, { name, slug, type, status }));
    };
    try {
      return await this.tenants.lockedTransaction(acting, organizationsLock(partnerId), (tx) =>
        this.idempotency.once(tx, () => create(tx)),
      );
    } catch (error) {
      if (error instanceof OrganizationLimitExceeded) throw new PartnerProvisioningLimitExceeded();
      if (!(error instanceof OrganizationSlugConflict)) throw error;
      // a rename took the slug meanwhile, which the lock does not keep off
      throw new PartnerProvisioningSlugConflict(await this.repository.findIdBySlug(acting, partnerId, slug));
    }
  }

  /** @throws OrganizationAccessDenied, SiteNameConflict; ValidationError for an unknown time zone; what `Idempotency.once` throws */
  createSite({
    caller,
    orgId,
    name,
    timezone,
    address,
    contact,
  }: PartnerSiteCreateRequest): Promise<CreatedRecord<ExportedSite>> {
    if (!isTimeZone(timezone)) throw ValidationError.forField('timezone', 'must be an IANA time zone');
    const acting = actingOf(caller);
    return this.tenants.transaction(acting, (tx) =>
      this.idempotency.once(tx, async () =>
        toSiteRecord(await this.sites.add(tx, acting, { orgId, name, timezone, address, contact })),
      ),
    );
  }

  private async getPartner({ tenant }: Acting): Promise<DirectoryPartner> {
    const partner = tenant.partnerId === null ? null : await this.partners.find(tenant.partnerId);
    if (!partner) throw new PartnerAccessDenied();
    return partner;
  }
}

/** Every status a partner key may create an organization with is one of an exported record. */
const toOrganizationRecord = (row: Organization): CreatedRecord<ExportedOrganization> => ({
  id: row.id,
  orgId: row.id,
  siteId: null,
  sourceUpdatedAt: row.updatedAt.toISOString(),
  name: row.name,
  slug: row.slug,
  type: row.type,
  status: row.status as ExportedOrganization['status'],
});

const toSiteRecord = (row: Site): CreatedRecord<ExportedSite> => ({
  id: row.id,
  orgId: row.orgId,
  siteId: row.id,
  sourceUpdatedAt: row.updatedAt.toISOString(),
  name: row.name,
  timezone: row.timezone,
  address: row.address,
  contact: row.contact,
});
