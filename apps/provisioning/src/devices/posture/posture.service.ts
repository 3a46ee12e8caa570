import { Injectable } from '@nestjs/common';
import { deviceGroupFilter, siteFilter, type Caller } from '@rmm/access';
import { OrganizationsRepository } from '../../organizations/organizations.repository.js';
import type { PostureDevicesDto } from './dto/posture-devices.dto.js';
import type { PostureDevicesQueryDto, PostureSummaryQueryDto } from './dto/posture-query.dto.js';
import type { PostureSummaryDto } from './dto/posture-summary.dto.js';
import { toPostureDeviceDto } from './posture-device.mapper.js';
import { PostureRepository, type VisibleDevices } from './posture.repository.js';

/** Shows which management tools were found on devices. @see docs/reference/provisioning.md#management-posture */
@Injectable()
export class PostureService {
  constructor(
    private readonly posture: PostureRepository,
    private readonly organizations: OrganizationsRepository,
  ) {}

  /** @throws OrganizationAccessDenied */
  async summarize(caller: Caller, query: PostureSummaryQueryDto): Promise<PostureSummaryDto> {
    const { orgId, category, stalenessDays } = query;
    if (orgId !== undefined) await this.organizations.getAccessible(caller, orgId);
    const selection = { orgId, category, stalenessDays, ...visibleDevices(caller) };
    const { totals, orgs, isTruncated } = await this.posture.summarize(caller, selection);
    return { data: { category, stalenessDays, totals, orgs, ...(isTruncated && { truncated: true }) } };
  }

  /** @throws OrganizationAccessDenied */
  async listDevices(caller: Caller, query: PostureDevicesQueryDto): Promise<PostureDevicesDto> {
    const { page, limit, ...selection } = query;
    if (query.orgId !== undefined) await this.organizations.getAccessible(caller, query.orgId);
    const found = { ...selection, ...visibleDevices(caller) };
    const { rows, ...counted } = await this.posture.listDevices(caller, found, { page, limit });
    return { data: { devices: rows.map(toPostureDeviceDto), page, limit, ...counted } };
  }
}

const visibleDevices = (caller: Caller): VisibleDevices => ({
  siteIds: siteFilter(caller),
  groupIds: deviceGroupFilter(caller),
});
