import { IsOneOf, IsUuid } from '@rmm/validation';

/** Names one membership. */
export class SwitchSessionDto {
  @IsUuid({ optional: true, description: 'Organization of the membership; absent: that of the partner' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Partner of the membership' })
  partnerId?: string;

  @IsOneOf(['system'], { optional: true, description: 'For platform administrators' })
  scope?: 'system';
}
