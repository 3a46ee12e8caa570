import { IsName } from '@rmm/validation';
import { MemberScopeQueryDto } from '../../members/dto/member-scope-query.dto.js';
import { ROLE_NAME } from './create-role.dto.js';

export class CloneRoleDto extends MemberScopeQueryDto {
  @IsName({ ...ROLE_NAME, description: 'Name of the new role' })
  name!: string;
}
