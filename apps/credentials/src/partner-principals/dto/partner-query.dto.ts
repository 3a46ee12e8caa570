import { IsUuid, PageQueryDto } from '@rmm/service-kit';

/** `?partnerId` counts for system callers only; everybody else has their own. */
export class PartnerQueryDto extends PageQueryDto {
  @IsUuid({ optional: true })
  partnerId?: string;
}
