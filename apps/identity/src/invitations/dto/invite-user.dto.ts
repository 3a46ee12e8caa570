import { IsEmailAddress, IsName, IsOneOf, IsUuid, IsUuidList } from '@rmm/validation';
import { MemberScopeQueryDto } from '../../members/dto/member-scope-query.dto.js';
import { ORG_ACCESS, type OrgAccess } from '../../members/membership.types.js';

export class InviteUserDto extends MemberScopeQueryDto {
  @IsEmailAddress({ description: 'E-mail address of the user' })
  email!: string;

  @IsName({ description: 'Name of the user' })
  name!: string;

  @IsUuid({ description: 'Role of the user' })
  roleId!: string;

  @IsOneOf(ORG_ACCESS, { optional: true, description: 'For a partner member; all by default' })
  orgAccess?: OrgAccess;

  @IsUuidList({ optional: true, max: 1000, description: 'With orgAccess selected' })
  orgIds?: string[];

  @IsUuidList({ optional: true, max: 1000, description: 'For an organization member; all sites when absent' })
  siteIds?: string[];

  @IsUuidList({ optional: true, max: 1000, description: 'Device groups that the membership is restricted to' })
  deviceGroupIds?: string[];
}
