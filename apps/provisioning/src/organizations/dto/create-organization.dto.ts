import type { OrganizationStatus } from '@rmm/contracts';
import { IsName, IsNested, IsOneOf, IsOpenObject, IsUuid, SLUG_PATTERN } from '@rmm/validation';
import { ORGANIZATION_STATUSES, ORGANIZATION_TYPES, type OrganizationType } from '../organization.entity.js';
import { BillingContactDto } from './billing-contact.dto.js';
import { IsDayOrInstant } from './day-or-instant.decorator.js';

export class CreateOrganizationDto {
  @IsUuid({ optional: true, description: 'Required in system scope; otherwise the partner of the caller' })
  partnerId?: string;

  @IsName({ example: 'Acme Dental', description: 'Name of the organization' })
  name!: string;

  @IsName({ max: 100, pattern: SLUG_PATTERN, optional: true, description: 'Derived from the name when absent' })
  slug?: string;

  @IsOneOf(ORGANIZATION_TYPES, { optional: true, description: 'Kind of the organization' })
  type?: OrganizationType;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true, description: 'State of the organization' })
  status?: OrganizationStatus;

  @IsOpenObject({
    optional: true,
    description:
      '`security` requires a session verified with a factor, and is in force before any user can use the organization',
  })
  settings?: Record<string, unknown>;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'When the contract begins; null: not known' })
  contractStart?: Date | null;

  @IsDayOrInstant({ optional: true, nullable: true, description: 'When the contract ends; null: open' })
  contractEnd?: Date | null;

  @IsNested(() => BillingContactDto, { optional: true, nullable: true, description: 'Contact that gets the invoices' })
  billingContact?: BillingContactDto | null;
}
