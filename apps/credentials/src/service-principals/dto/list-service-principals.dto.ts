import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { SERVICE_PRINCIPAL_STATUSES, type ServicePrincipalStatus } from '../service-principal.entity.js';

export class ListServicePrincipalsDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsOneOf(SERVICE_PRINCIPAL_STATUSES, { optional: true })
  status?: ServicePrincipalStatus;
}
