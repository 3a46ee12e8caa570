import type { OrganizationStatus } from '@rmm/contracts';
import { IsName, IsNested, IsOneOf, IsOpenObject, SLUG_PATTERN } from '@rmm/validation';
import { ORGANIZATION_STATUSES, ORGANIZATION_TYPES, type OrganizationType } from '../organization.entity.js';
import { BillingContactDto } from './billing-contact.dto.js';
import { IsDayOrInstant } from './day-or-instant.decorator.js';

/** An absent field stays as it is; null clears it. */
export class UpdateOrganizationDto {
  @IsName({ optional: true })
  name?: string;

  @IsName({ max: 100, pattern: SLUG_PATTERN, optional: true })
  slug?: string;

  @IsOneOf(ORGANIZATION_TYPES, { optional: true })
  type?: OrganizationType;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true })
  status?: OrganizationStatus;

  @IsOpenObject({
    optional: true,
    description:
      'Merged per key; null removes a key. `security` requires a session verified with a factor: requireMfa, ' +
      'allowedMfaMethods { totp, sms }, sessionLifetimeHours, passwordMinLength',
  })
  settings?: Record<string, unknown>;

  @IsDayOrInstant({ optional: true, nullable: true })
  contractStart?: Date | null;

  @IsDayOrInstant({ optional: true, nullable: true })
  contractEnd?: Date | null;

  @IsNested(() => BillingContactDto, { optional: true, nullable: true })
  billingContact?: BillingContactDto | null;
}
