import type { OrganizationStatus } from '@rmm/contracts';
import { IsName, IsNested, IsOneOf, IsOpenObject, IsUuid, SLUG_PATTERN } from '@rmm/validation';
import { ORGANIZATION_STATUSES, ORGANIZATION_TYPES, type OrganizationType } from '../organization.entity.js';
import { BillingContactDto } from './billing-contact.dto.js';
import { IsDayOrInstant } from './day-or-instant.decorator.js';

export class CreateOrganizationDto {
  @IsUuid({ optional: true, description: 'Required in system scope; otherwise the partner of the caller' })
  partnerId?: string;

  @IsName({ example: 'Acme Dental' })
  name!: string;

  @IsName({ max: 100, pattern: SLUG_PATTERN, optional: true, description: 'Derived from the name when absent' })
  slug?: string;

  @IsOneOf(ORGANIZATION_TYPES, { optional: true })
  type?: OrganizationType;

  @IsOneOf(ORGANIZATION_STATUSES, { optional: true })
  status?: OrganizationStatus;

  @IsOpenObject({ optional: true })
  settings?: Record<string, unknown>;

  @IsDayOrInstant({ optional: true, nullable: true })
  contractStart?: Date | null;

  @IsDayOrInstant({ optional: true, nullable: true })
  contractEnd?: Date | null;

  @IsNested(() => BillingContactDto, { optional: true, nullable: true })
  billingContact?: BillingContactDto | null;
}
