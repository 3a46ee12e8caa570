import {
  IsFlag,
  IsInteger,
  IsName,
  IsOneOf,
  IsText,
  IsUuid,
  IsUuidList,
  IsWordList,
  PageQueryDto,
} from '@rmm/validation';
import { DEVICE_STATUSES, OS_TYPES, type DeviceStatus, type OsType } from '../device.entity.js';

/** The columns of variable size, which a list leaves out unless they are named. */
export const DEVICE_INCLUDES = ['customFields', 'hardware', 'metrics'] as const;
export type DeviceInclude = (typeof DEVICE_INCLUDES)[number];

/** The orders that an index serves. The time of the last heartbeat has none: it would be written with each heartbeat. */
export const DEVICE_SORTS = ['hostname', 'enrolled', 'status', 'os'] as const;
export type DeviceSort = (typeof DEVICE_SORTS)[number];

const DIRECTIONS = ['asc', 'desc'] as const;
type Direction = (typeof DIRECTIONS)[number];

export class ListDevicesDto extends PageQueryDto {
  @IsInteger({ min: 1, max: 1_000, optional: true, description: 'Records per page' })
  override limit = 500;

  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuidList({ optional: true, min: 1, max: 100, description: 'Comma-separated' })
  orgIds?: string[];

  @IsUuid({ optional: true })
  siteId?: string;

  @IsUuidList({ optional: true, min: 1, max: 100, description: 'Comma-separated' })
  siteIds?: string[];

  @IsUuidList({ optional: true, min: 1, max: 100, description: 'Comma-separated; devices in any of the groups' })
  groupIds?: string[];

  @IsOneOf(DEVICE_STATUSES, { optional: true })
  status?: DeviceStatus;

  @IsOneOf(OS_TYPES, { optional: true })
  osType?: OsType;

  @IsName({ max: 64, optional: true })
  role?: string;

  @IsName({ optional: true, description: 'Part of the hostname or display name' })
  search?: string;

  @IsFlag({ optional: true })
  includeDecommissioned = false;

  @IsWordList({ values: DEVICE_INCLUDES, optional: true, description: 'Comma-separated; null in the rows otherwise' })
  include?: DeviceInclude[];

  @IsOneOf(DEVICE_SORTS, { optional: true, description: 'Newest first when absent' })
  sort?: DeviceSort;

  @IsOneOf(DIRECTIONS, { optional: true, description: 'Of `sort`; `asc` when absent' })
  sortDir?: Direction;

  @IsOneOf(DIRECTIONS, { optional: true, description: 'The same as `sortDir`' })
  order?: Direction;

  @IsText({
    max: 4_096,
    optional: true,
    description: 'Requests the page after a cursor instead of a numbered one; empty for the first page',
  })
  cursor?: string;

  @IsFlag({ optional: true, description: 'With `cursor`: whether the response states the total' })
  includeTotal = false;
}
