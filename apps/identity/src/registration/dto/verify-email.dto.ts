import { IsText } from '@rmm/service-kit';

export class VerifyEmailDto {
  @IsText({ min: 1, max: 255 })
  token!: string;
}
