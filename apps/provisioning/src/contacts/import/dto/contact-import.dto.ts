import { IsOneOf, IsUuid } from '@rmm/validation';
import { IsRowList } from '../../../import/dto/import-rows.dto.js';
import type { ImportMode } from '../../../import/import-decision.policy.js';

export class PreviewContactImportDto {
  @IsRowList(
    'organizationId or organization, site?, name, email, phone, mobile, title?, roles?, externalId?, externalSystem?',
  )
  rows!: unknown[];

  @IsUuid({ optional: true, description: 'Required in system scope' })
  partnerId?: string;
}

export class CommitContactImportDto extends PreviewContactImportDto {
  @IsOneOf(['skip', 'update'], { optional: true, description: '`skip` by default' })
  mode?: ImportMode;
}
