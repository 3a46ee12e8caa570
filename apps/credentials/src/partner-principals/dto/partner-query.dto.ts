import { IsUuid, PageQueryDto } from '@rmm/validation';

/** `?partnerId` is for system callers; other callers have access to their own partner only. */
export class PartnerQueryDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this partner; for system callers' })
  partnerId?: string;
}
