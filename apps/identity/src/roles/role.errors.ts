import { BadRequestError, ConflictError, ForbiddenError } from '@rmm/service-kit';

export class SystemRoleImmutable extends ForbiddenError {
  override code = 'system_role_immutable';

  constructor(action: 'modify' | 'delete') {
    super(`Cannot ${action} system roles`);
  }
}

export class CircularInheritance extends BadRequestError {
  override code = 'circular_inheritance';
  override error = 'Cannot set parent role: would create circular inheritance';
}

export class InheritanceTooDeep extends BadRequestError {
  override code = 'inheritance_too_deep';
  override error = 'Cannot set parent role: more than ten parents in a row';
}

export class InvalidParentRole extends BadRequestError {
  override code = 'invalid_parent_role';
  override error = 'Parent role does not belong to this scope';
}

export class RoleHasUsers extends BadRequestError {
  override code = 'role_has_users';
  override error = 'Role is assigned to users';

  constructor(userCount: number) {
    super(undefined, { extras: { userCount } });
  }
}

export class RoleHasChildren extends BadRequestError {
  override code = 'role_has_children';
  override error = 'Role has child roles';

  constructor(childRoleCount: number) {
    super(undefined, { extras: { childRoleCount } });
  }
}

export class InvalidRoleScope extends BadRequestError {
  override code = 'invalid_role_scope';
  override error = 'Role does not belong to this scope';
}

export class TooManyRoles extends ConflictError {
  override code = 'too_many_roles';

  constructor(limit: number) {
    super(`No more than ${limit} custom roles`);
  }
}
