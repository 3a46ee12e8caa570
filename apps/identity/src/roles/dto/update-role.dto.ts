import { IsFlag, IsName, IsNestedList, IsText, IsUuid } from '@rmm/validation';
import { MemberScopeQueryDto } from '../../members/dto/member-scope-query.dto.js';
import { ROLE_NAME } from './create-role.dto.js';
import { MAX_PERMISSIONS, PermissionPairDto } from './permission-pair.dto.js';

export class UpdateRoleDto extends MemberScopeQueryDto {
  @IsName({ ...ROLE_NAME, optional: true, description: 'Name of the role' })
  name?: string;

  @IsText({ optional: true, nullable: true, max: 1000, description: 'Free text about the role' })
  description?: string | null;

  @IsNestedList(() => PermissionPairDto, {
    optional: true,
    max: MAX_PERMISSIONS,
    description: "Replaces the role's own pairs",
  })
  permissions?: PermissionPairDto[];

  @IsUuid({ optional: true, nullable: true, description: 'null: no parent' })
  parentRoleId?: string | null;

  @IsFlag({ optional: true, description: 'Whether users with this role must enroll a second factor' })
  forceMfa?: boolean;
}
