import { IsEmailAddress, IsName } from '@rmm/validation';

export class SiteAddressDto {
  @IsName({ optional: true, nullable: true, description: 'Street and number' })
  line1?: string | null;

  @IsName({ optional: true, nullable: true, description: 'Addition to the street' })
  line2?: string | null;

  @IsName({ optional: true, nullable: true, description: 'City' })
  city?: string | null;

  @IsName({ optional: true, nullable: true, description: 'State, province or region' })
  region?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Postal code' })
  postalCode?: string | null;

  @IsName({ optional: true, nullable: true, description: 'ISO 3166 code of the country' })
  country?: string | null;
}

export class SiteContactDto {
  @IsName({ optional: true, nullable: true, description: 'Name of the contact' })
  name?: string | null;

  @IsEmailAddress({ optional: true, nullable: true, description: 'E-mail address of the contact' })
  email?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Phone number of the contact' })
  phone?: string | null;
}
