import { IsEmailAddress, IsInteger, IsName, IsNested, IsOneOf, SLUG_PATTERN } from '@rmm/validation';
import { PARTNER_TYPES, type PartnerType } from '../partner.entity.js';

export const MAX_CAP = 2_147_483_647;

export class PartnerAdminDto {
  @IsEmailAddress({ description: 'E-mail address of the administrator' })
  email!: string;

  @IsName({ description: 'Name of the administrator' })
  name!: string;
}

export class CreatePartnerDto {
  @IsName({ description: 'Name of the partner' })
  name!: string;

  @IsName({
    optional: true,
    max: 60,
    pattern: SLUG_PATTERN,
    description: 'Short name of the partner, unique and usable in URLs',
  })
  slug?: string;

  @IsOneOf(PARTNER_TYPES, { optional: true, description: 'Kind of the partner' })
  type?: PartnerType;

  @IsName({ optional: true, max: 50, description: 'Plan of the partner' })
  plan?: string;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxOrganizations?: number | null;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxDevices?: number | null;

  @IsName({ optional: true, max: 64, description: 'IANA name' })
  timezone?: string;

  @IsNested(() => PartnerAdminDto, { description: 'First administrator, who gets an invitation' })
  admin!: PartnerAdminDto;
}
