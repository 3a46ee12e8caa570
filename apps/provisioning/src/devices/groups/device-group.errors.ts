import { ConflictError } from '@rmm/service-kit';

export class DeviceGroupNameConflict extends ConflictError {
  override code = 'device_group_name_conflict';
  override error = 'A device group of this name exists in the organization';
}

export class DeviceGroupLimitExceeded extends ConflictError {
  override code = 'device_group_limit_reached';
  override error = 'Device group limit reached';
}
