import { IsCidrList, IsIsoDateTime, IsName, IsText, IsWordList } from '@rmm/validation';

export class CreatePartnerPrincipalDto {
  @IsName({ description: 'Unique among the principals of the partner' })
  name!: string;

  @IsText({ max: 1_000, optional: true, nullable: true, description: 'Free text about the principal' })
  description?: string | null;

  @IsWordList({ description: 'Default: the eight read scopes; write scopes are opt-in', optional: true, min: 1 })
  scopes?: string[];

  @IsIsoDateTime({ optional: true, nullable: true, description: 'When the principal expires; null: never' })
  expiresAt?: Date | null;

  @IsCidrList({ description: 'CIDR ranges the keys may be used from; empty: any address', max: 50, optional: true })
  sourceCidrs?: string[];
}
