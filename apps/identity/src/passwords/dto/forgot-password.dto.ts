import { IsEmailAddress } from '@rmm/validation';

export class ForgotPasswordDto {
  @IsEmailAddress({ example: 'robin@example.com', description: 'Address of the account' })
  email!: string;
}
