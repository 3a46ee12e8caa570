import { IsText } from '@rmm/validation';

export class VerifyEmailDto {
  @IsText({ min: 1, max: 255, description: 'Token from the mailed link' })
  token!: string;
}
