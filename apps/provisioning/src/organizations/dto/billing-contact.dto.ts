import { IsEmailAddress, IsName } from '@rmm/validation';

export class BillingContactDto {
  @IsName({ optional: true, nullable: true })
  name?: string | null;

  @IsEmailAddress({ optional: true, nullable: true })
  email?: string | null;

  @IsName({ max: 64, optional: true, nullable: true })
  phone?: string | null;
}
