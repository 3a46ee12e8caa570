import { ConflictError } from '@rmm/service-kit';

/** A device that was taken out of use is kept as it was. */
export class DeviceDecommissioned extends ConflictError {
  override code = 'device_decommissioned';
  override error = 'Device is decommissioned';
}
