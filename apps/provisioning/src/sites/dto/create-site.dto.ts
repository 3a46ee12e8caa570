import { fieldOf, IsName, IsNested, IsOpenObject, IsUuid } from '@rmm/service-kit';
import { isTimezone } from '../timezone.js';
import { SiteAddressDto, SiteContactDto } from './site-details.dto.js';

const IsTimezone = (): PropertyDecorator =>
  fieldOf({
    optional: true,
    description: 'IANA; UTC when absent',
    example: 'Europe/Berlin',
    name: 'isTimezone',
    check: (value) => typeof value === 'string' && isTimezone(value),
    text: 'must be an IANA time zone',
    api: { type: String },
  });

export class CreateSiteDto {
  @IsUuid({ optional: true, description: 'Organization callers may leave it out' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Another name of orgId; it wins when both come' })
  organizationId?: string;

  @IsName({ example: 'Headquarters' })
  name: string;

  @IsTimezone()
  timezone?: string;

  @IsNested(() => SiteAddressDto, { optional: true, nullable: true })
  address?: SiteAddressDto | null;

  @IsNested(() => SiteContactDto, { optional: true, nullable: true })
  contact?: SiteContactDto | null;

  @IsOpenObject({ optional: true })
  settings?: Record<string, unknown>;
}
