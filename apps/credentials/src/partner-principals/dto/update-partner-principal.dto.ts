import { IsCidrList, IsIsoDateTime, IsName, IsOneOf, IsText, IsWordList } from '@rmm/service-kit';
import { PRINCIPAL_STATUSES, type PrincipalStatus } from '../partner-principal.entity.js';

/** What is left out stays; null clears. */
export class UpdatePartnerPrincipalDto {
  @IsName({ description: 'Unique among the principals of the partner', optional: true })
  name?: string;

  @IsText({ max: 1_000, optional: true, nullable: true })
  description?: string | null;

  @IsOneOf(PRINCIPAL_STATUSES, { description: 'Keys of a disabled principal do not work', optional: true })
  status?: PrincipalStatus;

  @IsWordList({ description: 'Replaces the scopes; in force for every key', optional: true, min: 1 })
  scopes?: string[];

  @IsIsoDateTime({ description: 'When its keys end at the latest; null: never', optional: true, nullable: true })
  expiresAt?: Date | null;

  @IsCidrList({ description: 'Addresses the keys work from; empty: anywhere', max: 50, optional: true })
  sourceCidrs?: string[];
}
