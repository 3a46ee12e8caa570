import { IsFlag, IsName, IsNestedList, IsText, IsUuid } from '@rmm/validation';
import { MemberScopeQueryDto } from '../../members/dto/member-scope-query.dto.js';
import { MAX_PERMISSIONS, PermissionPairDto } from './permission-pair.dto.js';

export const ROLE_NAME = { max: 100 };

export class CreateRoleDto extends MemberScopeQueryDto {
  @IsName({ ...ROLE_NAME, description: 'Name of the role' })
  name!: string;

  @IsText({ optional: true, nullable: true, max: 1000, description: 'Free text about the role' })
  description?: string | null;

  @IsNestedList(() => PermissionPairDto, { optional: true, max: MAX_PERMISSIONS, description: "The role's own pairs" })
  permissions?: PermissionPairDto[];

  @IsUuid({ optional: true, nullable: true, description: 'Inherits all permissions of this role and of its parents' })
  parentRoleId?: string | null;

  @IsFlag({ optional: true, description: 'Users with this role must enroll a second factor' })
  forceMfa?: boolean;
}
