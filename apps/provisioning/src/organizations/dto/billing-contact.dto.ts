import { IsEmailAddress, IsName } from '@rmm/validation';

export class BillingContactDto {
  @IsName({ optional: true, nullable: true, description: 'Name of the contact' })
  name?: string | null;

  @IsEmailAddress({ optional: true, nullable: true, description: 'E-mail address of the contact' })
  email?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Phone number of the contact' })
  phone?: string | null;
}
