import { IsEmailAddress, IsName, IsOneOf, IsUuid, IsUuidList } from '@rmm/validation';
import { MemberScopeQueryDto } from '../../members/dto/member-scope-query.dto.js';
import { ORG_ACCESS, type OrgAccess } from '../../members/membership.js';

export class InviteUserDto extends MemberScopeQueryDto {
  @IsEmailAddress()
  email!: string;

  @IsName()
  name!: string;

  @IsUuid()
  roleId!: string;

  @IsOneOf(ORG_ACCESS, { optional: true, description: 'For a partner member; all by default' })
  orgAccess?: OrgAccess;

  @IsUuidList({ optional: true, max: 1000, description: 'With orgAccess selected' })
  orgIds?: string[];

  @IsUuidList({ optional: true, max: 1000, description: 'For an organization member; all sites when absent' })
  siteIds?: string[];

  @IsUuidList({ optional: true, max: 1000 })
  deviceGroupIds?: string[];
}
