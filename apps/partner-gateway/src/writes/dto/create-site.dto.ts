import { IsEmailAddress, IsName, IsNested, IsTimeZone, IsUuid } from '@rmm/validation';
import { IsIgnoredPartner } from './ignored-partner.decorator.js';

export class NewSiteAddressDto {
  @IsName({ optional: true, nullable: true, description: 'Street and number' })
  line1?: string | null;

  @IsName({ optional: true, nullable: true, description: 'Second line of the street' })
  line2?: string | null;

  @IsName({ optional: true, nullable: true, description: 'City' })
  city?: string | null;

  @IsName({ optional: true, nullable: true, description: 'State or region' })
  region?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Postal code' })
  postalCode?: string | null;

  @IsName({ optional: true, nullable: true, description: 'Country' })
  country?: string | null;
}

export class NewSiteContactDto {
  @IsName({ optional: true, nullable: true, description: 'Name of the contact' })
  name?: string | null;

  @IsEmailAddress({ optional: true, nullable: true, description: 'E-mail address' })
  email?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Telephone number' })
  phone?: string | null;
}

export class CreateSiteDto {
  @IsUuid({ description: 'An organization of the partner' })
  orgId!: string;

  @IsName({ description: 'Unique among the sites of the organization', example: 'Headquarters' })
  name!: string;

  @IsTimeZone({ optional: true, description: 'IANA name; `UTC` by default' })
  timezone?: string;

  @IsNested(() => NewSiteAddressDto, { optional: true, nullable: true, description: 'Postal address' })
  address?: NewSiteAddressDto | null;

  @IsNested(() => NewSiteContactDto, { optional: true, nullable: true, description: 'Whom to ask at the site' })
  contact?: NewSiteContactDto | null;

  @IsIgnoredPartner()
  partnerId?: unknown;
}
