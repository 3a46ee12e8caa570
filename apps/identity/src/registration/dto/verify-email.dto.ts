import { IsText } from '@rmm/validation';

export class VerifyEmailDto {
  @IsText({ min: 1, max: 255 })
  token!: string;
}
