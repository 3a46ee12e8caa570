import { IsFlag, IsInteger, IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/service-kit';
import { DEVICE_STATUSES, type DeviceStatus } from '../device.entity.js';

export class ListDevicesDto extends PageQueryDto {
  @IsInteger({ min: 1, max: 1_000, optional: true, description: 'Records a page' })
  override limit = 500;

  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  siteId?: string;

  @IsOneOf(DEVICE_STATUSES, { optional: true })
  status?: DeviceStatus;

  @IsName({ optional: true, description: 'Part of the hostname or display name' })
  search?: string;

  @IsFlag({ optional: true })
  includeDecommissioned = false;
}
