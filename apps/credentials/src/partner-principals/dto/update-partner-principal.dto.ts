import { IsCidrList, IsIsoDateTime, IsName, IsOneOf, IsText, IsWordList } from '@rmm/validation';
import { PARTNER_PRINCIPAL_STATUSES, type PartnerPrincipalStatus } from '../partner-principal.entity.js';

/** Absent fields keep their value; null clears a field. */
export class UpdatePartnerPrincipalDto {
  @IsName({ description: 'Unique among the principals of the partner', optional: true })
  name?: string;

  @IsText({ max: 1_000, optional: true, nullable: true, description: 'Free text about the principal' })
  description?: string | null;

  @IsOneOf(PARTNER_PRINCIPAL_STATUSES, { description: 'The keys of a disabled principal do not work', optional: true })
  status?: PartnerPrincipalStatus;

  @IsWordList({ description: 'Replaces the scopes of every key', optional: true, min: 1 })
  scopes?: string[];

  @IsIsoDateTime({ description: 'When its keys expire at the latest; null: never', optional: true, nullable: true })
  expiresAt?: Date | null;

  @IsCidrList({ description: 'CIDR ranges the keys may be used from; empty: any address', max: 50, optional: true })
  sourceCidrs?: string[];
}
