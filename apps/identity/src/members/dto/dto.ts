import { IsEmailAddress, IsName, IsOneOf, IsText, IsUuid, IsUuidList, PageQueryDto } from '@rmm/service-kit';
import { MAX_PASSWORD_INPUT } from '../../login/dto.js';
import { ORG_ACCESS, type OrgAccess } from '../membership.js';
import { USER_STATUSES } from '../../users/user.js';

export class AxisQueryDto {
  @IsUuid({ optional: true, description: "Manage this organization's members" })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Of system callers' })
  partnerId?: string;
}

export class ListUsersDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;

  @IsOneOf(USER_STATUSES, { optional: true })
  status?: string;

  @IsUuid({ optional: true })
  roleId?: string;

  @IsName({ optional: true, description: 'Part of a name or address' })
  search?: string;
}

export class ListRolesDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;
}

export class InviteUserDto extends AxisQueryDto {
  @IsEmailAddress()
  email: string;

  @IsName()
  name: string;

  @IsUuid()
  roleId: string;

  @IsOneOf(ORG_ACCESS, { optional: true, description: 'Of a partner member; all by default' })
  orgAccess?: OrgAccess;

  @IsUuidList({ optional: true, max: 1000, description: 'With selected' })
  orgIds?: string[];

  @IsUuidList({ optional: true, max: 1000, description: 'Of an organization member; all sites when absent' })
  siteIds?: string[];

  @IsUuidList({ optional: true, max: 1000 })
  deviceGroupIds?: string[];
}

export class AssignRoleDto extends AxisQueryDto {
  @IsUuid()
  roleId: string;
}

export class ResendInviteDto extends AxisQueryDto {
  @IsUuid()
  userId: string;
}

export class UpdateUserDto {
  @IsName({ optional: true })
  name?: string;

  @IsOneOf(USER_STATUSES, { optional: true, description: 'Leaving active ends every session' })
  status?: string;

  @IsText({ optional: true, nullable: true, max: 1000, description: 'Kept while the account is disabled' })
  disabledReason?: string | null;
}

export class AcceptInviteDto {
  @IsText({ min: 1, max: 255 })
  token: string;

  @IsText({ max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  password: string;

  @IsName({ optional: true })
  name?: string;
}

export class PreviewInviteDto {
  @IsText({ min: 1, max: 255 })
  token: string;
}
