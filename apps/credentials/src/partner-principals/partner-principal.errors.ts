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

/** Rotation of a key past its own end, with a new one or without: what may be lost is not brought back. */
export class PartnerKeyExpired extends ConflictError {
  override code = 'expired';
  override error = 'The key has expired';
}

export class PartnerKeyRevoked extends ConflictError {
  override code = 'revoked';
  override error = 'The key is revoked';
}

export class InvalidExpiry extends BadRequestError {
  override code = 'invalid_expiry';
  override error = 'expiresAt lies in the past';
}
