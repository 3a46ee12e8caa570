import { IsName, IsOneOf, SLUG_PATTERN } from '@rmm/validation';
import { IsIgnoredPartner } from './ignored-partner.decorator.js';

export class CreateOrganizationDto {
  @IsName({ description: 'Shown in lists', example: 'Blue Bakery' })
  name!: string;

  @IsName({
    max: 100,
    pattern: SLUG_PATTERN,
    description: 'Unique among the organizations of the partner',
    example: 'blue-bakery',
  })
  slug!: string;

  @IsOneOf(['customer', 'internal'], { optional: true, description: '`customer` by default' })
  type?: 'customer' | 'internal';

  @IsOneOf(['active', 'trial'], { optional: true, description: '`active` by default' })
  status?: 'active' | 'trial';

  @IsIgnoredPartner()
  partnerId?: unknown;
}
