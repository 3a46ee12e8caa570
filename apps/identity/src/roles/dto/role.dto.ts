import { ApiProperty } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { ACCESS_SCOPES } from '../../members/membership.js';
import { USER_STATUSES, type UserStatus } from '../../users/user.js';

const nullableId = { type: String, format: 'uuid', nullable: true } as const;

/** A role that can be assigned to a member. */
export class AssignableRoleDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ type: String, nullable: true })
  description: string | null;
  @ApiProperty({ enum: ACCESS_SCOPES })
  scope: AccessScope;
  @ApiProperty({ description: 'Seeded and immutable' })
  isSystem: boolean;
}

/** A role in a list: without its permissions. @see docs/reference/users-and-roles.md */
export class RoleListItemDto extends AssignableRoleDto {
  @ApiProperty()
  forceMfa: boolean;
  @ApiProperty(nullableId)
  partnerId: string | null;
  @ApiProperty(nullableId)
  orgId: string | null;
  @ApiProperty(nullableId)
  parentRoleId: string | null;
  @ApiProperty({ type: String, nullable: true })
  parentRoleName: string | null;
  @ApiProperty({ type: 'integer' })
  userCount: number;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class GrantedPermissionDto {
  @ApiProperty({ example: 'tickets' })
  resource: string;
  @ApiProperty({ example: 'write' })
  action: string;
}

/** One role with its own permissions. @see docs/reference/users-and-roles.md */
export class RoleDto extends RoleListItemDto {
  @ApiProperty({ type: [GrantedPermissionDto], description: 'Its own, without those of its parents' })
  permissions: GrantedPermissionDto[];
}

export class RoleUserDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty({ enum: USER_STATUSES })
  status: UserStatus;
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastLoginAt: string | null;
}
