import { IsEmailAddress, IsInteger, IsName, IsNested, IsOneOf } from '@rmm/service-kit';
import { PARTNER_TYPES, type PartnerType } from '../partner.entity.js';

const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
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

  @IsName({ optional: true, max: 60, pattern: SLUG })
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
