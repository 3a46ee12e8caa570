import { ApiProperty } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { ACCESS_SCOPES } from '../memberships/membership.js';

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
