import { IsFlag, IsInteger, IsName, IsOneOf, IsUuid, IsUuidList, IsWordList } from '@rmm/validation';
import { DIRECTIONS, OrderedPageQueryDto, type Direction } from '../../lists/dto/sorted-page-query.dto.js';
import { DEVICE_STATUSES, OS_TYPES, type DeviceStatus, type OsType } from '../device.entity.js';

/** The columns of variable size, which a list leaves out unless they are named. */
export const DEVICE_INCLUDES = ['customFields', 'hardware', 'metrics'] as const;
export type DeviceInclude = (typeof DEVICE_INCLUDES)[number];

export const DEVICE_SORTS = ['hostname', 'lastSeen', 'enrolled', 'status', 'os'] as const;
export type DeviceSort = (typeof DEVICE_SORTS)[number];

export class ListDevicesDto extends OrderedPageQueryDto {
  @IsInteger({ min: 1, max: 1_000, optional: true, description: 'Records per page' })
  override limit = 500;

  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsUuidList({ optional: true, min: 1, max: 100, description: 'Comma-separated' })
  orgIds?: string[];

  @IsUuid({ optional: true, description: 'Only those of this site' })
  siteId?: string;

  @IsUuidList({ optional: true, min: 1, max: 100, description: 'Comma-separated' })
  siteIds?: string[];

  @IsUuidList({ optional: true, min: 1, max: 100, description: 'Comma-separated; devices in any of the groups' })
  groupIds?: string[];

  @IsOneOf(DEVICE_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: DeviceStatus;

  @IsOneOf(OS_TYPES, { optional: true, description: 'Only those for this operating system' })
  osType?: OsType;

  @IsName({ max: 64, optional: true, description: 'Only devices with this role' })
  role?: string;

  @IsName({ optional: true, description: 'Part of the hostname or display name' })
  search?: string;

  @IsFlag({ optional: true, description: 'Whether decommissioned devices are listed too' })
  includeDecommissioned = false;

  @IsWordList({ values: DEVICE_INCLUDES, optional: true, description: 'Comma-separated; null in the rows otherwise' })
  include?: DeviceInclude[];

  @IsOneOf(DEVICE_SORTS, {
    optional: true,
    description: 'Newest first when absent; a device that was never seen is the least recent',
  })
  sort?: DeviceSort;

  @IsOneOf(DIRECTIONS, { optional: true, description: 'The same as `order`' })
  sortDir?: Direction;
}
