import { IsUuid } from '@rmm/validation';
import { MemberScopeQueryDto } from './member-scope-query.dto.js';

export class AssignRoleDto extends MemberScopeQueryDto {
  @IsUuid({ description: 'Role of the user' })
  roleId!: string;
}
