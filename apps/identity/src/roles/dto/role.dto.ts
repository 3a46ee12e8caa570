import { ApiProperty } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { ACCESS_SCOPES } from '../../members/membership.types.js';
import { USER_STATUSES, type UserStatus } from '../../users/user.types.js';

const nullableId = { type: String, format: 'uuid', nullable: true } as const;

/** A role that can be assigned to a member. */
export class AssignableRoleDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the role' })
  id: string;
  @ApiProperty({ description: 'Name of the role' })
  name: string;
  @ApiProperty({ type: String, nullable: true, description: 'Free text about the role' })
  description: string | null;
  @ApiProperty({ enum: ACCESS_SCOPES, description: 'Level of the role' })
  scope: AccessScope;
  @ApiProperty({ description: 'Seeded and immutable' })
  isSystem: boolean;
}

/** A role in a list: without its permissions. @see docs/reference/users-and-roles.md */
export class RoleListItemDto extends AssignableRoleDto {
  @ApiProperty({ description: 'Whether users with this role must enroll a second factor' })
  forceMfa: boolean;
  @ApiProperty({ ...nullableId, description: 'Partner of the role; null for a role of the system' })
  partnerId: string | null;
  @ApiProperty({
    ...nullableId,
    description: 'Organization of the role; null for a role of the partner or of the system',
  })
  orgId: string | null;
  @ApiProperty({ ...nullableId, description: 'Role whose permissions it inherits; null without one' })
  parentRoleId: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'Name of the parent role' })
  parentRoleName: string | null;
  @ApiProperty({ type: 'integer', description: 'Number of users with the role' })
  userCount: number;
  @ApiProperty({ format: 'date-time', description: 'When the role was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the role was last changed' })
  updatedAt: string;
}

export class GrantedPermissionDto {
  @ApiProperty({ example: 'tickets', description: 'Resource of the permission' })
  resource: string;
  @ApiProperty({ example: 'write', description: 'Action on the resource' })
  action: string;
}

/** One role with its own permissions. @see docs/reference/users-and-roles.md */
export class RoleDto extends RoleListItemDto {
  @ApiProperty({ type: [GrantedPermissionDto], description: 'Its own, without those of its parents' })
  permissions: GrantedPermissionDto[];
}

export class RoleUserDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ description: 'Name of the user' })
  name: string;
  @ApiProperty({ format: 'email', description: 'E-mail address of the user' })
  email: string;
  @ApiProperty({ enum: USER_STATUSES, description: 'State of the user' })
  status: UserStatus;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the user last signed in; null: never',
  })
  lastLoginAt: string | null;
}
