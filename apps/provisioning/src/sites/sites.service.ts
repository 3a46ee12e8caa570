import { Injectable } from '@nestjs/common';
import { assertSite, isSiteRestricted, SiteAccessDenied, siteFilter, type Caller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { trimName } from '../organizations/name-key.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import type { CreateSiteDto } from './dto/create-site.dto.js';
import type { ListSitesDto } from './dto/list-sites.dto.js';
import type { SiteDto } from './dto/site.dto.js';
import { toSiteAddress, toSiteContact } from './site-details.mapper.js';
import type { Site } from './site.entity.js';
import { SiteNameConflict } from './site.errors.js';
import { siteEvent } from './site.events.js';
import { toSiteDto } from './site.mapper.js';
import { SitesRepository } from './sites.repository.js';

@Injectable()
export class SitesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly sites: SitesRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws OrganizationAccessDenied  for a foreign or unknown `orgId` */
  async list(caller: Caller, query: ListSitesDto): Promise<Paged<SiteDto>> {
    const { orgId, search } = query;
    if (orgId !== undefined) await this.organizations.getAccessible(caller, orgId);
    const filter = { orgId, search, siteIds: siteFilter(caller) };
    const { rows, total, truncated } = await this.sites.list(caller, filter, query);
    return toPage(query, total, rows.map(toSiteDto), truncated);
  }

  /** @throws NotFoundError; SiteAccessDenied  for a member restricted to other sites */
  async get(caller: Caller, id: string): Promise<SiteDto> {
    const site = await this.sites.get(caller, id);
    assertSite(caller, site.id);
    return toSiteDto(site);
  }

  /** @throws OrganizationAccessDenied, SiteNameConflict; SiteAccessDenied  for a member restricted to sites */
  create(caller: Caller, dto: CreateSiteDto): Promise<SiteDto> {
    if (isSiteRestricted(caller)) throw new SiteAccessDenied();
    const orgId = dto.organizationId ?? dto.orgId ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.forField('orgId', 'is required');
    return this.tenants.transaction(caller, async (tx) => {
      const { partnerId } = await this.organizations.getAccessible(tx, orgId);
      const site = await rejectTakenName(
        this.sites.create(tx, {
          partnerId,
          orgId,
          name: trimName(dto.name),
          timezone: dto.timezone ?? 'UTC',
          address: dto.address ? toSiteAddress(dto.address) : null,
          contact: dto.contact ? toSiteContact(dto.contact) : null,
          settings: dto.settings ?? {},
        }),
      );
      await this.outbox.publish(tx, siteEvent('site.created', site, caller.actor));
      const resource = { type: 'site', id: site.id, name: site.name, orgId, partnerId };
      await this.audit.record(tx, caller, 'site.create', resource);
      return toSiteDto(await this.sites.get(tx, site.id));
    });
  }
}

async function rejectTakenName(write: Promise<Site>): Promise<Site> {
  try {
    return await write;
  } catch (error) {
    if (isUniqueViolation(error, 'site_name_key')) throw new SiteNameConflict();
    throw error;
  }
}
