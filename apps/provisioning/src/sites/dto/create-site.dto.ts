import { IsName, IsNested, IsOpenObject, IsUuid } from '@rmm/validation';
import { BillingContactDto } from '../../organizations/dto/billing-contact.dto.js';
import { IsDayOrInstant } from '../../organizations/dto/day-or-instant.decorator.js';
import { SiteAddressDto, SiteContactDto } from './site-details.dto.js';
import { IsTimeZone } from './time-zone.decorator.js';

export class CreateSiteDto {
  @IsUuid({ optional: true, description: 'Optional for organization callers' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Alias of orgId; it takes precedence' })
  organizationId?: string;

  @IsName({ example: 'Headquarters' })
  name!: string;

  @IsTimeZone()
  timezone?: string;

  @IsNested(() => SiteAddressDto, { optional: true, nullable: true })
  address?: SiteAddressDto | null;

  @IsNested(() => SiteContactDto, { optional: true, nullable: true })
  contact?: SiteContactDto | null;

  @IsOpenObject({ optional: true })
  settings?: Record<string, unknown>;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  contractStart?: Date | null;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  contractEnd?: Date | null;

  @IsNested(() => BillingContactDto, { optional: true, nullable: true, description: 'Kept in `settings.contract`' })
  billingContact?: BillingContactDto | null;
}
