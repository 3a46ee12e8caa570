import { IsUuid } from '@rmm/validation';
import { MemberScopeQueryDto } from '../../members/dto/member-scope-query.dto.js';

export class ResendInviteDto extends MemberScopeQueryDto {
  @IsUuid({ description: 'Id of the invited user' })
  userId!: string;
}
