import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { MFA_STATUSES, type MfaStatus } from '../../mfa/mfa.policy.js';
import { USER_STATUSES, type UserStatus } from '../../users/user.types.js';
import { ORG_ACCESS, type OrgAccess } from '../membership.types.js';

const isoDate = { type: String, format: 'date-time', nullable: true } as const;
const ids = { type: 'array', items: { type: 'string', format: 'uuid' }, nullable: true } as const;

/** A member of a partner or an organization. @see docs/reference/users-and-roles.md */
export class UserDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiProperty({ format: 'email', description: 'E-mail address of the user' })
  email: string;
  @ApiProperty({ description: 'Name of the user' })
  name: string;
  @ApiProperty({ enum: USER_STATUSES, description: 'State of the user' })
  status: UserStatus;
  @ApiProperty({ ...isoDate, description: 'When the user last signed in; null: never' })
  lastLoginAt: string | null;
  @ApiProperty({ description: 'Whether the user has a second factor' })
  mfaEnabled: boolean;
  @ApiProperty({ enum: MFA_STATUSES, description: 'State of the second factor of the user' })
  mfaStatus: MfaStatus;
  @ApiProperty({ ...isoDate, description: 'Until when a second factor must be enrolled; null: no deadline' })
  mfaEnrollmentDeadline: string | null;
  @ApiProperty({ format: 'uuid', description: 'Role of the user' })
  roleId: string;
  @ApiProperty({ description: 'Name of the role' })
  roleName: string;
  @ApiPropertyOptional({ type: String, enum: ORG_ACCESS, nullable: true, description: 'For partner members' })
  orgAccess?: OrgAccess | null;
  @ApiPropertyOptional({ ...ids, description: 'For partner members' })
  orgIds?: string[] | null;
  @ApiPropertyOptional({ ...ids, description: 'For organization members; null is all' })
  siteIds?: string[] | null;
  @ApiPropertyOptional({ ...ids, description: 'For organization members; null is all' })
  deviceGroupIds?: string[] | null;
  @ApiPropertyOptional({
    type: String,
    enum: ['scim'],
    nullable: true,
    description: 'For organization members; `scim`: the identity provider owns role and membership',
  })
  managedBy?: 'scim' | null;
}

/** The fields that follow from the user's own account and from other records. */
export const VOLATILE_USER_FIELDS = [
  'lastLoginAt',
  'mfaEnabled',
  'mfaEnrollmentDeadline',
  'mfaStatus',
  'roleName',
] as const satisfies (keyof UserDto)[];
