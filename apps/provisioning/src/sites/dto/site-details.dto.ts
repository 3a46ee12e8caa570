import { IsEmailAddress, IsName } from '@rmm/validation';

export class SiteAddressDto {
  @IsName({ optional: true, nullable: true })
  line1?: string | null;

  @IsName({ optional: true, nullable: true })
  line2?: string | null;

  @IsName({ optional: true, nullable: true })
  city?: string | null;

  @IsName({ optional: true, nullable: true })
  region?: string | null;

  @IsName({ max: 64, optional: true, nullable: true })
  postalCode?: string | null;

  @IsName({ optional: true, nullable: true })
  country?: string | null;
}

export class SiteContactDto {
  @IsName({ optional: true, nullable: true })
  name?: string | null;

  @IsEmailAddress({ optional: true, nullable: true })
  email?: string | null;

  @IsName({ max: 64, optional: true, nullable: true })
  phone?: string | null;
}
