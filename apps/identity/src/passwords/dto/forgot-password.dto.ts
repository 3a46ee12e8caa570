import { IsEmailAddress } from '@rmm/validation';

export class ForgotPasswordDto {
  @IsEmailAddress({ example: 'robin@example.com' })
  email!: string;
}
