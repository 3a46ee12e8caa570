import type { PartnerStatus } from '@rmm/contracts';
import { IsEmailAddress, IsInteger, IsName, IsNested, IsOneOf, IsOpenObject, PageQueryDto } from '@rmm/service-kit';
import { PARTNER_STATUSES, PARTNER_TYPES, type PartnerType } from './partner.entity.js';

const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_CAP = 2_147_483_647;

export class PartnerAdminDto {
  @IsEmailAddress()
  email: string;

  @IsName()
  name: string;
}

export class CreatePartnerDto {
  @IsName()
  name: string;

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
  admin: PartnerAdminDto;
}

export class ListPartnersDto extends PageQueryDto {
  @IsName({ optional: true, description: 'Part of the name or slug' })
  search?: string;

  @IsOneOf(PARTNER_STATUSES, { optional: true })
  status?: string;
}

export class UpdateOwnPartnerDto {
  @IsName({ optional: true })
  name?: string;

  @IsOpenObject({
    optional: true,
    description:
      'Merged per key, null removes one. `security` needs a session with a factor: requireMfa, allowedMfaMethods ' +
      '{ totp, sms }, sessionLifetimeHours, passwordMinLength, mfaEnrollmentGraceDays, ipAllowlist',
    example: { security: { requireMfa: true, allowedMfaMethods: { sms: false } } },
  })
  settings?: Record<string, unknown>;

  @IsName({ optional: true, max: 64, description: 'IANA name' })
  timezone?: string;

  @IsEmailAddress({ optional: true, nullable: true })
  billingEmail?: string | null;

  @IsName({ optional: true, pattern: /^[A-Z]{3}$/, max: 3, example: 'USD' })
  currencyCode?: string;
}

export class UpdatePartnerDto extends UpdateOwnPartnerDto {
  @IsOneOf(PARTNER_TYPES, { optional: true })
  type?: PartnerType;

  @IsName({ optional: true, max: 50 })
  plan?: string;

  @IsOneOf(PARTNER_STATUSES, { optional: true, description: 'Other than active: its users and keys are kept out' })
  status?: PartnerStatus;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxOrganizations?: number | null;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxDevices?: number | null;
}
