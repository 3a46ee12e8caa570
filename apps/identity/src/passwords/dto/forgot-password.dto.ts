import { IsEmailAddress } from '@rmm/service-kit';

export class ForgotPasswordDto {
  @IsEmailAddress({ example: 'robin@example.com' })
  email!: string;
}
