import { IsName, IsNested, IsOpenObject } from '@rmm/validation';
import { BillingContactDto } from '../../organizations/dto/billing-contact.dto.js';
import { IsDayOrInstant } from '../../organizations/dto/day-or-instant.decorator.js';
import { SiteAddressDto, SiteContactDto } from './site-details.dto.js';
import { IsTimeZone } from './time-zone.decorator.js';

/** An absent field stays as it is, also inside of `address`, `contact` and `billingContact`; null clears it. */
export class UpdateSiteDto {
  @IsName({ optional: true })
  name?: string;

  @IsTimeZone()
  timezone?: string;

  @IsNested(() => SiteAddressDto, { optional: true, nullable: true })
  address?: SiteAddressDto | null;

  @IsNested(() => SiteContactDto, { optional: true, nullable: true })
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
