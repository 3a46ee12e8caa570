import { Injectable } from '@nestjs/common';
import {
  assertManagesSite,
  assertSite,
  isSiteRestricted,
  SiteAccessDenied,
  siteFilter,
  type Acting,
  type Caller,
} from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, type DoneDto, ValidationError } from '@rmm/service-kit';
import { ContactsRepository } from '../contacts/contacts.repository.js';
import { DeviceGroupsRepository } from '../devices/groups/device-groups.repository.js';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import { trimName } from '../organizations/name-key.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import type { CreateSiteDto } from './dto/create-site.dto.js';
import type { ListSitesDto } from './dto/list-sites.dto.js';
import type { SiteDto } from './dto/site.dto.js';
import type { UpdateSiteDto } from './dto/update-site.dto.js';
import { toSiteAddress, toSiteContact, type SiteAddress, type SiteContact } from './site-details.mapper.js';
import { mergeSiteSettings } from './site-settings.policy.js';
import type { Site } from './site.entity.js';
import { SiteNameConflict, SiteNotEmpty } from './site.errors.js';
import { siteEvents } from './site.events.js';
import { toSiteDto } from './site.mapper.js';
import { SitesRepository, type SiteChanges } from './sites.repository.js';

@Injectable()
export class SitesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly sites: SitesRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly groups: DeviceGroupsRepository,
    private readonly contacts: ContactsRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * @throws OrganizationAccessDenied  for a foreign or unknown `orgId`; InvalidCursor; ValidationError  for an order that
   *   no index serves
   */
  async list(caller: Caller, query: ListSitesDto): Promise<SortedPage<SiteDto>> {
    const { orgId, search } = query;
    if (query.sort === 'name' && caller.tenant.scope === 'system' && orgId === undefined) {
      throw ValidationError.forField('sort', 'needs orgId in system scope');
    }
    if (orgId !== undefined) await this.organizations.getAccessible(caller, orgId);
    const filter = { orgId, search, siteIds: siteFilter(caller) };
    const { rows, pagination } = await this.sites.list(caller, filter, query);
    return { data: rows.map(toSiteDto), pagination };
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
    const settings = mergeSiteSettings({}, dto.settings, dto);
    return this.tenants.transaction(caller, async (tx) => {
      const { id } = await this.add(tx, caller, { ...dto, orgId, settings });
      return toSiteDto(await this.sites.get(tx, id));
    });
  }

  /** Stores, publishes and audits a new site. @throws OrganizationAccessDenied, SiteNameConflict */
  async add(
    tx: TenantTransaction,
    acting: Acting,
    { orgId, name, timezone, address, contact, settings }: GivenSite,
  ): Promise<Site> {
    const { partnerId } = await this.organizations.getAccessible(tx, orgId);
    const site = await rejectTakenName(
      this.sites.create(tx, {
        partnerId,
        orgId,
        name: trimName(name),
        timezone: timezone ?? 'UTC',
        address: address ? toSiteAddress(address) : null,
        contact: contact ? toSiteContact(contact) : null,
        settings,
      }),
    );
    await this.publish(tx, acting, 'created', site);
    return site;
  }

  /** @throws NotFoundError, RecordChanged, SiteNameConflict, ValidationError; SiteAccessDenied  for a member restricted to other sites */
  update(caller: Caller, id: string, dto: UpdateSiteDto): Promise<SiteDto> {
    const fields = Object.entries(dto)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => field);
    if (fields.length === 0) throw new ValidationError('No field to change');
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.sites.lock(tx, id, 'FOR NO KEY UPDATE');
      assertManagesSite(caller, id);
      await this.assertMatch(tx, id);
      const site = await rejectTakenName(this.sites.change(tx, id, toChanges(dto, before)));
      await this.publish(tx, caller, 'updated', site, { fields });
      return toSiteDto(await this.sites.get(tx, id));
    });
  }

  /**
   * Deletes a site without devices, and its device groups; its contacts become contacts of the organization. Credentials ends
   * the enrollment keys of the site by the event.
   * @throws NotFoundError, RecordChanged, SiteNotEmpty; SiteAccessDenied  for a member restricted to sites
   */
  delete(caller: Caller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const { orgId } = await this.sites.lock(tx, id, 'FOR UPDATE');
      if (isSiteRestricted(caller)) throw new SiteAccessDenied();
      await this.assertMatch(tx, id);
      if ((await this.sites.countDevices(tx, id)) > 0) throw new SiteNotEmpty();
      const groups = await this.groups.deleteOfSite(tx, orgId, id);
      await this.contacts.detachSite(tx, orgId, id);
      const site = await this.sites.remove(tx, id);
      await this.publish(tx, caller, 'deleted', site, { deviceGroups: groups.length });
      return { success: true };
    });
  }

  /** Compares `If-Match` with a locked site. @throws RecordChanged */
  private assertMatch(tx: TenantTransaction, id: string): Promise<void> {
    return assertIfMatch(async () => toSiteDto(await this.sites.get(tx, id)));
  }

  private async publish(
    tx: TenantTransaction,
    acting: Acting,
    change: keyof typeof AUDIT_ACTIONS,
    site: Site,
    details: Record<string, unknown> = {},
  ): Promise<void> {
    const { id, name, orgId, partnerId } = site;
    await this.outbox.publish(tx, siteEvents(`site.${change}`, site, acting.actor));
    await this.audit.record(tx, acting, AUDIT_ACTIONS[change], { type: 'site', id, name, orgId, partnerId }, details);
  }
}

interface GivenSite {
  orgId: string;
  name: string;
  timezone?: string;
  address?: Partial<SiteAddress> | null;
  contact?: Partial<SiteContact> | null;
  settings?: Record<string, unknown>;
}

const AUDIT_ACTIONS = {
  created: 'site.create',
  updated: 'site.update',
  deleted: 'site.delete',
} as const satisfies Record<string, AuditAction>;

function toChanges({ name, timezone, address, contact, ...dto }: UpdateSiteDto, before: Site): SiteChanges {
  return {
    name: name === undefined ? undefined : trimName(name),
    timezone,
    address: address && toSiteAddress({ ...before.address, ...withoutUndefined(address) }),
    contact: contact && toSiteContact({ ...before.contact, ...withoutUndefined(contact) }),
    settings: mergeSiteSettings(before.settings, dto.settings, dto),
  };
}

const withoutUndefined = <T extends object>(given: T): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;

async function rejectTakenName(write: Promise<Site>): Promise<Site> {
  try {
    return await write;
  } catch (error) {
    if (isUniqueViolation(error, 'site_name_key')) throw new SiteNameConflict();
    throw error;
  }
}
