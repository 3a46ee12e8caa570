import { IsUuid } from '@rmm/validation';

export class SwitchSessionDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;
}
