import type { PartnerStatus } from '@rmm/contracts';
import { IsEmailAddress, IsInteger, IsName, IsOneOf, IsOpenObject } from '@rmm/validation';
import { PARTNER_STATUSES, PARTNER_TYPES, type PartnerType } from '../partner.entity.js';
import { MAX_CAP } from './create-partner.dto.js';

export class UpdateOwnPartnerDto {
  @IsName({ optional: true, description: 'Name of the partner' })
  name?: string;

  @IsOpenObject({
    optional: true,
    description:
      'Merged per key; null removes a key. `security` needs a session with a factor: requireMfa, allowedMfaMethods ' +
      '{ totp, sms }, sessionLifetimeHours, passwordMinLength, mfaEnrollmentGraceDays, ipAllowlist. `enrollment`: ' +
      '{ maxTtlMinutes: 1-525600 }. `locale`: a BCP 47 language tag. Other keys are free; at most 64 KB in all',
    example: { security: { requireMfa: true, allowedMfaMethods: { sms: false } } },
  })
  settings?: Record<string, unknown>;

  @IsName({ optional: true, max: 64, description: 'IANA name' })
  timezone?: string;

  @IsEmailAddress({ optional: true, nullable: true, description: 'Address for invoices' })
  billingEmail?: string | null;

  @IsName({
    optional: true,
    pattern: /^[A-Z]{3}$/,
    max: 3,
    example: 'USD',
    description: 'ISO 4217 code of the currency',
  })
  currencyCode?: string;
}

export class UpdatePartnerDto extends UpdateOwnPartnerDto {
  @IsOneOf(PARTNER_TYPES, { optional: true, description: 'Kind of the partner' })
  type?: PartnerType;

  @IsName({ optional: true, max: 50, description: 'Plan of the partner' })
  plan?: string;

  @IsOneOf(PARTNER_STATUSES, { optional: true, description: 'Any other than active refuses its users and keys' })
  status?: PartnerStatus;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxOrganizations?: number | null;

  @IsInteger({ optional: true, nullable: true, max: MAX_CAP, description: 'null: no cap' })
  maxDevices?: number | null;
}
