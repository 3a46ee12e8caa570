import { IsText, IsUuid } from '@rmm/service-kit';

export class RefreshDto {
  @IsText({ optional: true, min: 1, max: 4096, description: 'For clients that keep the token themselves' })
  refreshToken?: string;
}

export class SwitchDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;
}
