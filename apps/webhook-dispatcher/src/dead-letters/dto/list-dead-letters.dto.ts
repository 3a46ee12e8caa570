import { IsUuid, ListPageQueryDto } from '@rmm/validation';

export class ListDeadLettersDto extends ListPageQueryDto {
  @IsUuid({
    optional: true,
    description: 'Dead letters of one organization; by default of all the caller has access to',
  })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Only those of this webhook' })
  webhookId?: string;
}
