import { IsOneOf, IsUuidList } from '@rmm/validation';
import { ORG_ACCESS, type OrgAccess } from '../membership.types.js';
import { MemberScopeQueryDto } from './member-scope-query.dto.js';

/** Restrictions of a member; an absent field stays as it is. */
export class UpdateMembershipDto extends MemberScopeQueryDto {
  @IsOneOf(ORG_ACCESS, { optional: true, description: 'For a partner member' })
  orgAccess?: OrgAccess;

  @IsUuidList({ optional: true, max: 1000, description: 'With orgAccess selected' })
  orgIds?: string[];

  @IsUuidList({ optional: true, nullable: true, max: 1000, description: 'For an organization member; null is all' })
  siteIds?: string[] | null;

  @IsUuidList({ optional: true, nullable: true, max: 1000, description: 'For an organization member; null is all' })
  deviceGroupIds?: string[] | null;
}
