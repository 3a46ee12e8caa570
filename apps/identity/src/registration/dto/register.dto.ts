import { fieldOf, IsEmailAddress, IsName, IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../../passwords/password-rules.js';

export class RegisterDto {
  @IsEmailAddress()
  email!: string;

  @IsText({ max: MAX_PASSWORD_INPUT })
  password!: string;

  @IsName({ optional: true })
  name?: string;
}

export class RegisterPartnerDto {
  @IsName({ min: 2, example: 'Acme Managed Services' })
  companyName!: string;

  @IsEmailAddress()
  email!: string;

  @IsText({ max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  password!: string;

  @IsName()
  name!: string;

  @fieldOf({ name: 'isTrue', check: (value) => value === true, text: 'must be true', api: { type: Boolean } })
  acceptTerms!: true;
}
