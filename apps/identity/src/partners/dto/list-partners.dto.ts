import type { PartnerStatus } from '@rmm/contracts';
import { IsName, IsOneOf, PageQueryDto } from '@rmm/validation';
import { PARTNER_STATUSES } from '../partner.entity.js';

export class ListPartnersDto extends PageQueryDto {
  @IsName({ optional: true, description: 'Part of the name or slug' })
  search?: string;

  @IsOneOf(PARTNER_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: PartnerStatus;
}
