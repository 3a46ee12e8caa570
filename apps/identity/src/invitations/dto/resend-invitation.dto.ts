import { IsUuid } from '@rmm/service-kit';
import { MemberScopeQueryDto } from '../../members/dto/member-scope-query.dto.js';

export class ResendInviteDto extends MemberScopeQueryDto {
  @IsUuid()
  userId!: string;
}
