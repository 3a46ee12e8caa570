import { IsEmailAddress, IsInteger, IsName, IsNested, IsOneOf, SLUG_PATTERN } from '@rmm/validation';
import { PARTNER_TYPES, type PartnerType } from '../partner.entity.js';

export const MAX_CAP = 2_147_483_647;

export class PartnerAdminDto {
  @IsEmailAddress()
  email!: string;

  @IsName()
  name!: string;
}

export class CreatePartnerDto {
  @IsName()
  name!: string;

  @IsName({ optional: true, max: 60, pattern: SLUG_PATTERN })
  slug?: string;

  @IsOneOf(PARTNER_TYPES, { optional: true })
  type?: PartnerType;

  @IsName({ optional: true, max: 50 })
  plan?: string;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxOrganizations?: number | null;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxDevices?: number | null;

  @IsName({ optional: true, max: 64, description: 'IANA name' })
  timezone?: string;

  @IsNested(() => PartnerAdminDto)
  admin!: PartnerAdminDto;
}
