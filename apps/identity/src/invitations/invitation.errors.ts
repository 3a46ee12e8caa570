import { BadRequestError, ConflictError, GoneError, NotFoundError } from '@rmm/service-kit';

export class UserAlreadyExists extends ConflictError {
  override code = 'user_already_exists';
  override error = 'User already exists in this scope';
}

export class InviteInvalid extends BadRequestError {
  override code = 'invite_invalid';
  override error = 'Invitation is invalid or expired';
}

export class InviteNotFound extends NotFoundError {
  constructor() {
    super('Invitation');
  }
}

export class InviteAlreadyAccepted extends GoneError {
  override code = 'invite_accepted';
  override error = 'Invitation was already accepted';
}

/** Links that are unknown, used or expired, whose use is audited. */
export const INVITATION_REFUSALS = {
  action: 'user.invite.accepted',
  errors: [InviteInvalid, InviteNotFound, InviteAlreadyAccepted],
  route: 'POST /api/v1/auth/accept-invite',
} as const;
