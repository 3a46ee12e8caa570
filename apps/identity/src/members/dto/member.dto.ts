import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { MFA_STATUSES, type MfaStatus } from '../../mfa/mfa-policy.js';
import { USER_STATUSES, type UserStatus } from '../../users/user.js';
import { ORG_ACCESS, type OrgAccess } from '../membership.js';

const isoDate = { type: String, format: 'date-time', nullable: true } as const;
const ids = { type: 'array', items: { type: 'string', format: 'uuid' }, nullable: true } as const;

/** A member of a partner or an organization. @see docs/reference/users-and-roles.md */
export class UserDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'email' })
  email: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ enum: USER_STATUSES })
  status: UserStatus;
  @ApiProperty(isoDate)
  lastLoginAt: string | null;
  @ApiProperty()
  mfaEnabled: boolean;
  @ApiProperty({ enum: MFA_STATUSES })
  mfaStatus: MfaStatus;
  @ApiProperty(isoDate)
  mfaEnrollmentDeadline: string | null;
  @ApiProperty({ format: 'uuid' })
  roleId: string;
  @ApiProperty()
  roleName: string;
  @ApiPropertyOptional({ type: String, enum: ORG_ACCESS, nullable: true, description: 'For partner members' })
  orgAccess?: OrgAccess | null;
  @ApiPropertyOptional({ ...ids, description: 'For partner members' })
  orgIds?: string[] | null;
  @ApiPropertyOptional({ ...ids, description: 'For organization members; null is all' })
  siteIds?: string[] | null;
  @ApiPropertyOptional({ ...ids, description: 'For organization members; null is all' })
  deviceGroupIds?: string[] | null;
}
