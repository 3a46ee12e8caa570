import { IsOneOf, IsUuid } from '@rmm/validation';

/** Names one membership. */
export class SwitchSessionDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;

  @IsOneOf(['system'], { optional: true, description: 'For platform administrators' })
  scope?: 'system';
}
