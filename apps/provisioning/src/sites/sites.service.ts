import { assertSite, isSiteRestricted, SiteAccessDenied, siteFilter, type Caller } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase } from '@rmm/persistence';
import { NotFoundError, toPage, ValidationError, type Paged } from '@rmm/service-kit';
import { tidyName } from '../organizations/name-key.js';
import { assertOrganizationAccess } from '../organizations/reachable.js';
import type { CreateSiteDto } from './dto/create-site.dto.js';
import type { ListSitesDto } from './dto/list-sites.dto.js';
import { toSiteAddress, toSiteContact } from './site-details.js';
import { siteMessage, type SiteFactRow } from './site-facts.js';
import { SiteNameConflict } from './site.errors.js';
import { SitesRepository, type SiteView } from './sites.repository.js';

@Injectable()
export class SitesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly sites: SitesRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws OrganizationAccessDenied  for a foreign or unknown `orgId` */
  async list(caller: Caller, query: ListSitesDto): Promise<Paged<SiteView>> {
    const { page, limit, orgId, search } = query;
    const sql = this.tenants.reader(caller);
    if (orgId !== undefined) await assertOrganizationAccess(sql, orgId);
    const filter = { orgId, search, siteIds: siteFilter(caller) };
    const [rows, total] = await Promise.all([
      this.sites.list(sql, filter, { limit, offset: (page - 1) * limit }),
      this.sites.count(sql, filter),
    ]);
    return toPage(query, total, rows);
  }

  /** @throws NotFoundError; SiteAccessDenied  for a confined member */
  async get(caller: Caller, id: string): Promise<SiteView> {
    const site = await this.sites.find(this.tenants.reader(caller), id);
    if (!site) throw new NotFoundError('Site');
    assertSite(caller, site.id);
    return site;
  }

  /** @throws OrganizationAccessDenied, SiteNameConflict; SiteAccessDenied  for a confined member */
  create(caller: Caller, dto: CreateSiteDto): Promise<SiteView> {
    if (isSiteRestricted(caller)) throw new SiteAccessDenied();
    const orgId = dto.organizationId ?? dto.orgId ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.of('orgId', 'is required');
    return this.tenants.transaction(caller, async (tx) => {
      const { partnerId } = await assertOrganizationAccess(tx, orgId);
      const row = await this.orNameConflict(
        this.sites.insert(tx, {
          partnerId,
          orgId,
          name: tidyName(dto.name),
          timezone: dto.timezone ?? 'UTC',
          address: dto.address ? toSiteAddress(dto.address) : null,
          contact: dto.contact ? toSiteContact(dto.contact) : null,
          settings: dto.settings ?? {},
        }),
      );
      await this.outbox.publish(tx, siteMessage('site.created', row, caller.actor));
      await this.audit.record(tx, caller, 'site.create', {
        type: 'site',
        id: row.id,
        name: row.name,
        orgId,
        partnerId,
      });
      return (await this.sites.find(tx, row.id)) as SiteView;
    });
  }

  private async orNameConflict(write: Promise<SiteFactRow>): Promise<SiteFactRow> {
    try {
      return await write;
    } catch (error) {
      if (isUniqueViolation(error, 'site_name_key')) throw new SiteNameConflict();
      throw error;
    }
  }
}
