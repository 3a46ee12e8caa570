import { fieldOf, IsOneOf, IsUuid } from '@rmm/service-kit';
import type { ImportMode } from '../decide.js';
import { MAX_IMPORT_ROWS } from '../import-row.js';

/** The rows themselves are read by `parseImportRows`: their unknown columns are ignored, not refused. */
const IsRowList = (): PropertyDecorator =>
  fieldOf({
    name: 'isRowList',
    check: (value) => Array.isArray(value) && value.length <= MAX_IMPORT_ROWS,
    text: `must be a list of at most ${MAX_IMPORT_ROWS} rows`,
    description: 'organization, site?, externalId?, externalSystem?, timezone?, address?, contact?',
    api: { type: 'array', items: { type: 'object', additionalProperties: true }, maxItems: MAX_IMPORT_ROWS } as never,
  });

export class PreviewImportDto {
  @IsRowList()
  rows: unknown[];

  @IsUuid({ optional: true, description: 'System scope' })
  partnerId?: string;
}

export class CommitImportDto extends PreviewImportDto {
  @IsOneOf(['skip', 'update'], { optional: true, description: 'skip unless said otherwise' })
  mode?: ImportMode;
}
