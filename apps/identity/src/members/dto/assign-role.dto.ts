import { IsUuid } from '@rmm/service-kit';
import { MemberScopeQueryDto } from './member-scope-query.dto.js';

export class AssignRoleDto extends MemberScopeQueryDto {
  @IsUuid()
  roleId!: string;
}
