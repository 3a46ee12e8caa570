import { Injectable } from '@nestjs/common';
import { assertDevice, deviceGroupFilter, SiteAccessDenied, siteFilter, type Caller } from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { SitesRepository } from '../sites/sites.repository.js';
import { toDeviceDto } from './device.mapper.js';
import { DevicesRepository } from './devices.repository.js';
import type { DeviceDto } from './dto/device.dto.js';
import type { ListDevicesDto } from './dto/list-devices.dto.js';

@Injectable()
export class DevicesService {
  constructor(
    private readonly devices: DevicesRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly sites: SitesRepository,
  ) {}

  /** @throws OrganizationAccessDenied, SiteAccessDenied; ValidationError  for a site of another organization */
  async list(caller: Caller, query: ListDevicesDto): Promise<Paged<DeviceDto>> {
    const { orgId, siteId, status, search, includeDecommissioned } = query;
    const siteIds = siteFilter(caller);
    if (siteId !== undefined && siteIds !== null && !siteIds.includes(siteId)) throw new SiteAccessDenied();
    if (orgId !== undefined) await this.assertAccess(caller, orgId, siteId);
    const isGroupRestricted = deviceGroupFilter(caller) !== null;
    const filter = { orgId, siteId, status, search, includeDecommissioned, siteIds, isGroupRestricted };
    const { rows, total } = await this.devices.list(caller, filter, query);
    return toPage(query, total, rows.map(toDeviceDto));
  }

  /** @throws NotFoundError; SiteAccessDenied  for a member restricted to other sites */
  async get(caller: Caller, id: string): Promise<DeviceDto> {
    const device = await this.devices.get(caller, id);
    assertDevice(caller, device);
    return toDeviceDto(device);
  }

  private async assertAccess(caller: Caller, orgId: string, siteId: string | undefined): Promise<void> {
    await this.organizations.getAccessible(caller, orgId);
    if (siteId === undefined || (await this.sites.exists(caller, orgId, siteId))) return;
    throw ValidationError.forField('siteId', 'is not a site of the organization');
  }
}
