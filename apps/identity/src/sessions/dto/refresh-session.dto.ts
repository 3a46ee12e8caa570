import { IsText } from '@rmm/validation';

export class RefreshSessionDto {
  @IsText({ optional: true, min: 1, max: 4096, description: 'For clients that store the token themselves' })
  refreshToken?: string;
}
