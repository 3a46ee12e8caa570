import type { OrganizationStatus } from '@rmm/contracts';
import { IsName, IsNested, IsOneOf, IsOpenObject, SLUG_PATTERN } from '@rmm/validation';
import { ORGANIZATION_STATUSES, ORGANIZATION_TYPES, type OrganizationType } from '../organization.entity.js';
import { BillingContactDto } from './billing-contact.dto.js';
import { IsDayOrInstant } from './day-or-instant.decorator.js';

/** An absent field stays as it is; null clears it. */
export class UpdateOrganizationDto {
  @IsName({ optional: true, description: 'Name of the organization' })
  name?: string;

  @IsName({
    max: 100,
    pattern: SLUG_PATTERN,
    optional: true,
    description: 'Short name of the organization, unique and usable in URLs',
  })
  slug?: string;

  @IsOneOf(ORGANIZATION_TYPES, { optional: true, description: 'Kind of the organization' })
  type?: OrganizationType;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true, description: 'State of the organization' })
  status?: OrganizationStatus;

  @IsOpenObject({
    optional: true,
    description:
      'Merged per key; null removes a key. `security` requires a session verified with a factor: requireMfa, ' +
      'allowedMfaMethods { totp, sms }, sessionLifetimeHours, passwordMinLength',
  })
  settings?: Record<string, unknown>;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'When the contract begins; null: not known' })
  contractStart?: Date | null;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'When the contract ends; null: open' })
  contractEnd?: Date | null;

  @IsNested(() => BillingContactDto, { optional: true, nullable: true, description: 'Contact that gets the invoices' })
  billingContact?: BillingContactDto | null;
}
