import { Injectable } from '@nestjs/common';
import { assertDevice, deviceGroupFilter, SiteAccessDenied, siteFilter, type Caller } from '@rmm/access';
import { ValidationError } from '@rmm/errors';
import { toPage } from '@rmm/validation';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { SitesRepository } from '../sites/sites.repository.js';
import { toDeviceDto } from './device.mapper.js';
import { DevicesRepository, type DeviceListing } from './devices.repository.js';
import type { DeviceListDto } from './dto/device-list.dto.js';
import type { DeviceDto } from './dto/device.dto.js';
import type { ListDevicesDto } from './dto/list-devices.dto.js';

@Injectable()
export class DevicesService {
  constructor(
    private readonly devices: DevicesRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly sites: SitesRepository,
  ) {}

  /**
   * Lists a numbered page, or with `cursor` the page after it.
   * @throws OrganizationAccessDenied, SiteAccessDenied, InvalidCursor; ValidationError  for a site of another
   *   organization, and for an order that no index serves
   */
  async list(caller: Caller, query: ListDevicesDto): Promise<DeviceListDto> {
    await this.assertFilters(caller, query);
    const listing = toListing(caller, query);
    const { limit, page, cursor } = query;
    if (cursor === undefined) {
      const { rows, ...counted } = await this.devices.listNumbered(caller, listing, query);
      return toPage({ page, limit }, counted, rows.map(toDeviceDto));
    }
    const [{ rows, nextCursor }, counted] = await Promise.all([
      this.devices.listAfter(caller, listing, { cursor, limit }),
      query.includeTotal ? this.devices.countMatching(caller, listing) : undefined,
    ]);
    const sort = { by: listing.order.by ?? 'created', dir: listing.order.dir };
    return { data: rows.map(toDeviceDto), pagination: { nextCursor, limit, ...counted, sort } };
  }

  /** @throws NotFoundError; SiteAccessDenied  for a member restricted to other sites */
  async get(caller: Caller, id: string): Promise<DeviceDto> {
    const device = await this.devices.get(caller, id);
    assertDevice(caller, device);
    return toDeviceDto(device);
  }

  private async assertFilters(caller: Caller, query: ListDevicesDto): Promise<void> {
    const { orgId, siteId, sort } = query;
    const orgIds = [...(query.orgIds ?? []), ...(orgId === undefined ? [] : [orgId])];
    const siteIds = [...(query.siteIds ?? []), ...(siteId === undefined ? [] : [siteId])];
    const allowed = siteFilter(caller);
    if (allowed !== null && siteIds.some((id) => !allowed.includes(id))) throw new SiteAccessDenied();
    const allowedGroups = deviceGroupFilter(caller);
    if (allowedGroups !== null && query.groupIds?.some((id) => !allowedGroups.includes(id)))
      throw new SiteAccessDenied();
    if (query.sortDir && query.order && query.sortDir !== query.order) {
      throw ValidationError.forField('order', 'contradicts sortDir');
    }
    if (caller.tenant.scope === 'system' && sort !== undefined && orgIds.length === 0) {
      throw ValidationError.forField('sort', 'needs orgId in system scope');
    }
    if (orgIds.length > 0) await this.organizations.assertAccessible(caller, orgIds);
    if (orgId !== undefined && siteIds.length > 0) await this.assertSites(caller, orgId, siteIds, siteId);
  }

  private async assertSites(caller: Caller, orgId: string, siteIds: string[], siteId?: string): Promise<void> {
    if (await this.sites.allExist(caller, orgId, siteIds)) return;
    throw ValidationError.forField(siteId === undefined ? 'siteIds' : 'siteId', 'is not a site of the organization');
  }
}

function toListing(caller: Caller, query: ListDevicesDto): DeviceListing {
  const { orgId, orgIds, siteId, siteIds, groupIds, status, osType, role, search, includeDecommissioned } = query;
  const allowed = { allowedSiteIds: siteFilter(caller), allowedGroupIds: deviceGroupFilter(caller) };
  return {
    filter: {
      ...{ orgId, orgIds, siteId, siteIds, groupIds, status, osType, role, search, includeDecommissioned },
      ...allowed,
    },
    order: { by: query.sort, dir: query.sortDir ?? query.order ?? (query.sort ? 'asc' : 'desc') },
    include: query.include ?? [],
  };
}
