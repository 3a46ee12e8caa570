import { IsUuid, PageQueryDto } from '@rmm/validation';

export class ListDeadLettersDto extends PageQueryDto {
  @IsUuid({
    optional: true,
    description: 'Dead letters of one organization; by default of all the caller has access to',
  })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Only those of this webhook' })
  webhookId?: string;
}
