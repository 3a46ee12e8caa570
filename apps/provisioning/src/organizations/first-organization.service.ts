import { Injectable } from '@nestjs/common';
import { PartnerDirectory } from '@rmm/access';
import type { PROVISIONING_ORGANIZATIONS_ENSURE_FIRST, RpcReply, RpcRequest } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { uniqueSlug } from '@rmm/validation';
import { PartnersRepository } from '../partners/partners.repository.js';
import type { Site } from '../sites/site.entity.js';
import { siteEvents, toSiteState } from '../sites/site.events.js';
import { SitesRepository } from '../sites/sites.repository.js';
import { trimName } from './name-key.js';
import { organizationSlug } from './organization-slug.js';
import type { Organization } from './organization.entity.js';
import { organizationEvents, toOrganizationState } from './organization.events.js';
import { OrganizationsRepository } from './organizations.repository.js';

type FirstOrganizationRequest = RpcRequest<typeof PROVISIONING_ORGANIZATIONS_ENSURE_FIRST>;
/** A partner that starts; its time zone is that of the first site. */
export type StartingPartner = FirstOrganizationRequest & { timezone: string };
type FirstOrganization = RpcReply<typeof PROVISIONING_ORGANIZATIONS_ENSURE_FIRST>;

const FIRST_SITE = 'Main Office';
const SYSTEM = { type: 'system', id: null } as const;

/** Creates the organization and the site with which a partner starts. */
@Injectable()
export class FirstOrganizationService {
  constructor(
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly worker: WorkerDatabase,
    private readonly organizations: OrganizationsRepository,
    private readonly sites: SitesRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** Creates both for a partner that identity has. @throws NotFoundError for an unknown partner */
  async ensureForPartner(request: FirstOrganizationRequest): Promise<FirstOrganization> {
    const partner = await this.partners.find(request.partnerId);
    if (!partner) throw new NotFoundError('Partner');
    return this.worker.transaction((tx) => this.ensure(tx, { ...request, timezone: partner.timezone }));
  }

  /** Creates both unless they exist; returns both as they are stored. The RPC and the event of a sign-up may race. */
  async ensure(tx: WorkerTransaction, request: StartingPartner): Promise<FirstOrganization> {
    await this.counters.lockOrganizations(tx, request.partnerId);
    const existing = await this.organizations.findFirst(tx, request.partnerId);
    const organization = existing ?? (await this.createOrganization(tx, request));
    const site = existing
      ? await this.sites.getOldest(tx, organization.id)
      : await this.createSite(tx, organization, request.timezone);
    if (!existing) await this.publish(tx, organization, site);
    return { organization: toOrganizationState(organization), site: toSiteState(site) };
  }

  private async createOrganization(
    tx: WorkerTransaction,
    { partnerId, companyName, partnerSlug }: FirstOrganizationRequest,
  ): Promise<Organization> {
    const base = organizationSlug(partnerSlug);
    const taken = await this.organizations.listTakenSlugs(tx, partnerId, [base]);
    const slug = uniqueSlug(base, (candidate) => taken.has(candidate));
    return this.organizations.create(tx, { partnerId, name: trimName(companyName), slug, isFirst: true });
  }

  private createSite(tx: WorkerTransaction, { id, partnerId }: Organization, timezone: string): Promise<Site> {
    return this.sites.create(tx, { partnerId, orgId: id, name: FIRST_SITE, timezone });
  }

  private async publish(tx: WorkerTransaction, organization: Organization, site: Site): Promise<void> {
    const { id, name, slug, partnerId } = organization;
    await this.outbox.publish(tx, [
      ...organizationEvents('organization.created', organization, SYSTEM),
      ...siteEvents('site.created', site, SYSTEM),
    ]);
    const caller = { actor: SYSTEM, tenant: { partnerId, orgId: id } };
    const details = { source: 'sign-up', slug, siteId: site.id };
    await this.audit.record(tx, caller, 'organization.create', { type: 'organization', id, name }, details);
  }
}
