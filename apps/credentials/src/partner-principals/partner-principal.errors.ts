import { BadRequestError, ConflictError } from '@rmm/service-kit';

export class PrincipalNameTaken extends ConflictError {
  override code = 'conflict';
  override error = 'A principal of that name exists';
}

export class PrincipalDisabled extends ConflictError {
  override code = 'disabled';
  override error = 'The principal is disabled';
}

export class PrincipalExpired extends ConflictError {
  override code = 'expired';
  override error = 'The principal has expired';
}

export class InvalidExpiry extends BadRequestError {
  override code = 'invalid_expiry';
  override error = 'expiresAt lies in the past';
}
