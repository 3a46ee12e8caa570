import { BadRequestError, ConflictError, NotFoundError } from '@rmm/service-kit';

export class PartnerPrincipalNotFound extends NotFoundError {
  constructor() {
    super('Partner service principal');
  }
}

export class PartnerKeyNotFound extends NotFoundError {
  constructor() {
    super('Partner service principal key');
  }
}

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

/** An expired key cannot be rotated, not even with a new expiry. */
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
