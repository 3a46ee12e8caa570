import { assertDevice, deviceGroupFilter, SiteAccessDenied, siteFilter, type Caller } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { TenantDatabase, type SqlExecutor } from '@rmm/persistence';
import { NotFoundError, toPage, ValidationError, type Paged } from '@rmm/service-kit';
import { assertOrganizationAccess } from '../organizations/reachable.js';
import { DevicesRepository, type DeviceView } from './devices.repository.js';
import type { ListDevicesDto } from './dto/list-devices.dto.js';

@Injectable()
export class DevicesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly devices: DevicesRepository,
  ) {}

  /** @throws OrganizationAccessDenied, SiteAccessDenied; ValidationError  for a site of another organization */
  async list(caller: Caller, query: ListDevicesDto): Promise<Paged<DeviceView>> {
    const { page, limit, orgId, siteId, status, search, includeDecommissioned } = query;
    const sql = this.tenants.reader(caller);
    const siteIds = siteFilter(caller);
    if (siteId !== undefined && siteIds !== null && !siteIds.includes(siteId)) throw new SiteAccessDenied();
    if (orgId !== undefined) await this.assertNamed(sql, orgId, siteId);
    const confinedToGroups = deviceGroupFilter(caller) !== null;
    const filter = { orgId, siteId, status, search, includeDecommissioned, siteIds, confinedToGroups };
    const [rows, total] = await Promise.all([
      this.devices.list(sql, filter, { limit, offset: (page - 1) * limit }),
      this.devices.count(sql, filter),
    ]);
    return toPage(query, total, rows);
  }

  /** @throws NotFoundError; SiteAccessDenied  for a confined member */
  async get(caller: Caller, id: string): Promise<DeviceView> {
    const device = await this.devices.find(this.tenants.reader(caller), id);
    if (!device) throw new NotFoundError('Device');
    assertDevice(caller, device);
    return device;
  }

  private async assertNamed(sql: SqlExecutor, orgId: string, siteId: string | undefined): Promise<void> {
    await assertOrganizationAccess(sql, orgId);
    if (siteId === undefined) return;
    const found = await sql.query('select 1 as found from site where id = $1 and org_id = $2', [siteId, orgId]);
    if (found.length === 0) throw ValidationError.of('siteId', 'is not a site of the organization');
  }
}
