import { isPermission, splitPermission, type EffectivePermission, type Permission } from '@rmm/permissions';
import { ValidationError } from '@rmm/service-kit';
import type { EffectivePermissionDto } from './dto/effective-permissions.dto.js';
import type { PermissionPairDto } from './dto/permission-pair.dto.js';
import type { AssignableRoleDto, RoleDto, RoleListItemDto, RoleUserDto } from './dto/role.dto.js';
import type { ListedRole, RoleUser, RoleWithPermissions } from './roles.repository.js';

export const toRoleListItem = (role: ListedRole): RoleListItemDto => ({
  id: role.id,
  name: role.name,
  description: role.description,
  scope: role.scope,
  isSystem: role.isSystem,
  forceMfa: role.forceMfa,
  partnerId: role.partnerId,
  orgId: role.orgId,
  parentRoleId: role.parentRoleId,
  parentRoleName: role.parentRoleName,
  userCount: role.userCount,
  createdAt: role.createdAt.toISOString(),
  updatedAt: role.updatedAt.toISOString(),
});

export const toRoleDto = (role: RoleWithPermissions): RoleDto => ({
  ...toRoleListItem(role),
  permissions: role.permissions.map(splitPermission),
});

export const toAssignableRole = ({ id, name, description, scope, isSystem }: ListedRole): AssignableRoleDto => ({
  id,
  name,
  description,
  scope,
  isSystem,
});

export const toRoleUser = ({ id, name, email, status, lastLoginAt }: RoleUser): RoleUserDto => ({
  id,
  name,
  email,
  status,
  lastLoginAt: lastLoginAt?.toISOString() ?? null,
});

export const toEffectivePermission = (effective: EffectivePermission): EffectivePermissionDto => ({
  ...splitPermission(effective.permission),
  inherited: effective.inherited,
  sourceRoleId: effective.sourceRoleId,
  sourceRoleName: effective.sourceRoleName,
});

/** Returns the permissions of a request, each once. @throws ValidationError naming every unknown pair */
export function toKnownPermissions(pairs: readonly PermissionPairDto[]): Permission[] {
  const texts = pairs.map(({ resource, action }) => `${resource}:${action}`);
  const unknown = texts.flatMap((text, i) =>
    isPermission(text) ? [] : [[`permissions.${i}`, [`unknown permission ${text}`]]],
  );
  if (unknown.length > 0) {
    throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(unknown) as Record<string, string[]> });
  }
  return [...new Set(texts.filter(isPermission))];
}
