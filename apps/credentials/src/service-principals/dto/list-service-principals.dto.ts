import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/service-kit';
import type { ServicePrincipalStatus } from '../service-principal.entity.js';

export class ListServicePrincipalsDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsOneOf(['active', 'disabled'], { optional: true })
  status?: ServicePrincipalStatus;
}
