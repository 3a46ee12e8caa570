import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { SERVICE_PRINCIPAL_STATUSES, type ServicePrincipalStatus } from '../service-principal.entity.js';

export class ListServicePrincipalsDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsOneOf(SERVICE_PRINCIPAL_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: ServicePrincipalStatus;
}
