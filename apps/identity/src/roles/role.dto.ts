import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { USER_STATUSES, type UserStatus } from '../users/user.js';
import { ACCESS_SCOPES } from '../members/membership.js';

const nullableId = { type: String, format: 'uuid', nullable: true } as const;

/** What may be chosen for a member. */
export class AssignableRoleDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ type: String, nullable: true })
  description: string | null;
  @ApiProperty({ enum: ACCESS_SCOPES })
  scope: AccessScope;
  @ApiProperty({ description: 'Seeded, and immutable' })
  isSystem: boolean;
}

/** A role of a list: without its permissions. @see CONTRACT.md 4.6 */
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

/** One role with its own pairs. @see CONTRACT.md 4.6 */
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

export class EffectivePermissionDto extends GrantedPermissionDto {
  @ApiProperty({ description: 'False when the role itself names the pair' })
  inherited: boolean;
  @ApiProperty({ format: 'uuid' })
  sourceRoleId: string;
  @ApiProperty()
  sourceRoleName: string;
}

export class ChainLinkDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty()
  name: string;
}

/** What a role gives in all, and where each pair comes from; the nearest source wins. */
export class EffectivePermissionsDto {
  @ApiProperty({ format: 'uuid' })
  roleId: string;
  @ApiProperty()
  roleName: string;
  @ApiProperty({ type: [ChainLinkDto], description: 'The role first, then its parents' })
  inheritanceChain: ChainLinkDto[];
  @ApiProperty({ type: [EffectivePermissionDto] })
  permissions: EffectivePermissionDto[];
}

export class AvailablePermissionsDto {
  @ApiProperty({ type: [String] })
  resources: string[];
  @ApiProperty({ type: [String] })
  actions: string[];
}

export class CatalogEntryDto extends GrantedPermissionDto {
  @ApiPropertyOptional()
  description?: string;
}

const labels = { type: 'object', additionalProperties: { type: 'string' } } as const;

/** Every assignable pair, and how to call it. @see CONTRACT.md 4.6 */
export class PermissionCatalogDto {
  @ApiProperty({ type: [CatalogEntryDto] })
  permissions: CatalogEntryDto[];
  @ApiProperty(labels)
  resourceLabels: Record<string, string>;
  @ApiProperty(labels)
  actionLabels: Record<string, string>;
}
