import { fieldOf, IsEmailAddress, IsName, IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../../passwords/password.policy.js';

export class RegisterDto {
  @IsEmailAddress({ description: 'E-mail address of the user' })
  email!: string;

  @IsText({ max: MAX_PASSWORD_INPUT, description: 'The password of the account' })
  password!: string;

  @IsName({ optional: true, description: 'Name of the user' })
  name?: string;
}

export class RegisterPartnerDto {
  @IsName({ min: 2, example: 'Acme Managed Services', description: 'Name of the new partner' })
  companyName!: string;

  @IsEmailAddress({ description: 'E-mail address of the user' })
  email!: string;

  @IsText({ max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  password!: string;

  @IsName({ description: 'Name of the user' })
  name!: string;

  @fieldOf({
    name: 'isTrue',
    check: (value) => value === true,
    text: 'must be true',
    description: 'Whether the user accepts the terms: true',
    api: { type: Boolean },
  })
  acceptTerms!: true;
}
