import { IsInteger } from '@rmm/validation';

export const USAGE_DAYS = 90;

export class UsageQueryDto {
  @IsInteger({ description: 'How many days back, today included', min: 1, max: USAGE_DAYS, optional: true })
  days?: number;
}
