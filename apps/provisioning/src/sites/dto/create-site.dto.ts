import { fieldOf, IsName, IsNested, IsOpenObject, isTimeZone, IsUuid } from '@rmm/validation';
import { SiteAddressDto, SiteContactDto } from './site-details.dto.js';

const IsTimeZone = (): PropertyDecorator =>
  fieldOf({
    optional: true,
    description: 'IANA name; UTC when absent',
    example: 'Europe/Berlin',
    name: 'isTimezone',
    check: (value) => typeof value === 'string' && isTimeZone(value),
    text: 'must be an IANA time zone',
    api: { type: String },
  });

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
}
