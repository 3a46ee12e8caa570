import { IsName, IsNested, IsOpenObject, IsTimeZone, IsUuid } from '@rmm/validation';
import { BillingContactDto } from '../../organizations/dto/billing-contact.dto.js';
import { IsDayOrInstant } from '../../organizations/dto/day-or-instant.decorator.js';
import { SiteAddressDto, SiteContactDto } from './site-details.dto.js';

export class CreateSiteDto {
  @IsUuid({ optional: true, description: 'Optional for organization callers' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Alias of orgId; it takes precedence' })
  organizationId?: string;

  @IsName({ example: 'Headquarters', description: 'Name of the site' })
  name!: string;

  @IsTimeZone({ optional: true, description: 'IANA name; UTC when absent at creation' })
  timezone?: string;

  @IsNested(() => SiteAddressDto, { optional: true, nullable: true, description: 'Postal address of the site' })
  address?: SiteAddressDto | null;

  @IsNested(() => SiteContactDto, { optional: true, nullable: true, description: 'Contact of the site' })
  contact?: SiteContactDto | null;

  @IsOpenObject({ optional: true, description: 'Settings of the site' })
  settings?: Record<string, unknown>;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  contractStart?: Date | null;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  contractEnd?: Date | null;

  @IsNested(() => BillingContactDto, { optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  billingContact?: BillingContactDto | null;
}
