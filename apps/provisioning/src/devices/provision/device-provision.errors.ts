import { ConflictError, GoneError } from '@rmm/service-kit';

/** 409: another device in use of the organization has this hostname. */
export class HostnameCollision extends ConflictError {
  override code = 'hostname_collision';
  override error = 'A device of this hostname exists';
}

/** 410: the token was not used in time. Decommission the device and provision it again. */
export class ProvisionTokenExpired extends GoneError {
  override error = 'The token has expired';
}
