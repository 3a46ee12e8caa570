import { IsName, IsUuid, IsWordList } from '@rmm/validation';

export class CreateServicePrincipalDto {
  @IsUuid({ description: 'Required unless the caller belongs to one organization', optional: true })
  orgId?: string;

  @IsName({ description: 'Shown in lists' })
  name!: string;

  @IsWordList({ description: 'What its key may do; may be empty' })
  scopes!: string[];
}
