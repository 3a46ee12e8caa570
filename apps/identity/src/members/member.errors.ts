import { BadRequestError, ConflictError, ForbiddenError } from '@rmm/service-kit';

export class SelfActionRefused extends ForbiddenError {
  override code = 'self_action_refused';
  override error = 'You cannot do this to your own account';
}

export class LastAdmin extends ConflictError {
  override code = 'last_admin';
  override error = 'The last administrator cannot be removed';
}

/** The identity provider of the organization owns what was to be changed. */
export class ManagedByScim extends ConflictError {
  override code = 'managed_by_scim';
  override error = 'The identity provider of the organization manages this user';
}

export class UserNotInvited extends BadRequestError {
  override code = 'user_not_invited';
  override error = 'User has no open invitation';
}

export class ContextRequired extends ForbiddenError {
  override code = 'context_required';
  override error = 'Partner or organization context required';
}
