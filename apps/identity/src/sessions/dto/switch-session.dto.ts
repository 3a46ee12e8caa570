import { IsUuid } from '@rmm/service-kit';

export class SwitchSessionDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;
}
