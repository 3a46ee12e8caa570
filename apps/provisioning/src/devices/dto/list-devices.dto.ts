import { fieldOf, IsFlag, IsInteger, IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { DEVICE_STATUSES, type DeviceStatus } from '../device.entity.js';

/** Planned parameters. They are refused, since ignoring a filter would return devices that the client excluded. */
const UNSUPPORTED = [
  'orgIds',
  'siteIds',
  'groupIds',
  'osType',
  'role',
  'sort',
  'sortDir',
  'order',
  'cursor',
  'include',
  'includeTotal',
];

const IsUnsupported = (): PropertyDecorator =>
  fieldOf({
    optional: true,
    description: 'Not supported yet: the response is 400 `validation_failed`',
    name: 'isUnsupported',
    check: () => false,
    text: 'is not supported yet',
    api: { type: String },
  });

export class ListDevicesDto extends PageQueryDto {
  @IsInteger({ min: 1, max: 1_000, optional: true, description: 'Records per page' })
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

for (const parameter of UNSUPPORTED) IsUnsupported()(ListDevicesDto.prototype, parameter);
