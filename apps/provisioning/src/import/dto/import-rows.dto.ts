import { fieldOf, IsOneOf, IsUuid } from '@rmm/validation';
import type { ImportMode } from '../import-decision.policy.js';
import { MAX_IMPORT_ROWS } from '../row-reader.js';

/** Checks the list only: `parseRows` reads the rows, whose unknown columns are ignored instead of refused. */
export const IsRowList = (description: string): PropertyDecorator =>
  fieldOf({
    name: 'isRowList',
    check: (value) => Array.isArray(value) && value.length <= MAX_IMPORT_ROWS,
    text: `must be a list of at most ${MAX_IMPORT_ROWS} rows`,
    description,
    api: { type: 'array', items: { type: 'object', additionalProperties: true }, maxItems: MAX_IMPORT_ROWS } as never,
  });

export class PreviewImportDto {
  @IsRowList('organization, site?, externalId?, externalSystem?, timezone?, address?, contact?')
  rows!: unknown[];

  @IsUuid({ optional: true, description: 'Required in system scope' })
  partnerId?: string;
}

export class CommitImportDto extends PreviewImportDto {
  @IsOneOf(['skip', 'update'], { optional: true, description: '`skip` by default' })
  mode?: ImportMode;
}
