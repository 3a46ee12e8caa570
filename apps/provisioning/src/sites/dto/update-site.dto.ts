import { IsName, IsNested, IsOpenObject, IsTimeZone } from '@rmm/validation';
import { BillingContactDto } from '../../organizations/dto/billing-contact.dto.js';
import { IsDayOrInstant } from '../../organizations/dto/day-or-instant.decorator.js';
import { SiteAddressDto, SiteContactDto } from './site-details.dto.js';

/** An absent field stays as it is, also inside of `address`, `contact` and `billingContact`; null clears it. */
export class UpdateSiteDto {
  @IsName({ optional: true, description: 'Name of the site' })
  name?: string;

  @IsTimeZone({ optional: true, description: 'IANA name; UTC when absent at creation' })
  timezone?: string;

  @IsNested(() => SiteAddressDto, { optional: true, nullable: true, description: 'Postal address of the site' })
  address?: SiteAddressDto | null;

  @IsNested(() => SiteContactDto, { optional: true, nullable: true, description: 'Contact of the site' })
  contact?: SiteContactDto | null;

  @IsOpenObject({ optional: true, description: 'Merged per key; null removes a key' })
  settings?: Record<string, unknown>;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  contractStart?: Date | null;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  contractEnd?: Date | null;

  @IsNested(() => BillingContactDto, { optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  billingContact?: BillingContactDto | null;
}
