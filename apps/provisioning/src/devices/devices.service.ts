import { Injectable } from '@nestjs/common';
import { assertDevice, deviceGroupFilter, SiteAccessDenied, siteFilter, type Caller } from '@rmm/access';
import { ValidationError } from '@rmm/errors';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { SitesRepository } from '../sites/sites.repository.js';
import { toDeviceDto } from './device.mapper.js';
import { DevicesRepository, type DeviceListing, type DeviceView } from './devices.repository.js';
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
  async list(caller: Caller, query: ListDevicesDto): Promise<SortedPage<DeviceDto>> {
    await this.assertFilters(caller, query);
    const order = query.sortDir ?? query.order;
    const { rows, pagination } = await this.devices.list(caller, toListing(caller, query), { ...query, order });
    return { data: rows.map(toDeviceDto), pagination };
  }

  /** @throws NotFoundError; SiteAccessDenied  for a member restricted to other sites */
  async get(caller: Caller, id: string): Promise<DeviceDto> {
    const device = await this.devices.get(caller, id);
    assertDevice(caller, device);
    return toDeviceDto(device);
  }

  /**
   * Returns the device of an agent.
   * @throws NotFoundError  also for a decommissioned device; SiteAccessDenied
   */
  async getActiveByAgent(caller: Caller, agentId: string): Promise<DeviceView> {
    const device = await this.devices.getActiveByAgent(caller, agentId);
    assertDevice(caller, device);
    return device;
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
    include: query.include ?? [],
  };
}
