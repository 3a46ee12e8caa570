import { fieldOf, IsFlag, IsOneOf } from '@rmm/validation';
import type { ImportMode } from '../../import/import-decision.policy.js';
import type { CommittedRowOptions } from '../import-run.entity.js';

const MAX_ROWS = 1_000;
const TEXTS = ['expectedAnnotation', 'expectedOrganizationId', 'expectedContactId'];
const FLAGS = ['reactivate', 'forceCreate'];

function isRowOptions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([key, given]) => {
    if (key === 'index') return Number.isInteger(given) && (given as number) >= 0;
    if (TEXTS.includes(key)) return typeof given === 'string' && given.length <= 64;
    return FLAGS.includes(key) && typeof given === 'boolean';
  });
}

export class CommitImportRunDto {
  @IsOneOf(['skip', 'update'], { optional: true, description: '`skip` by default' })
  mode?: ImportMode;

  @IsFlag({ optional: true, description: 'Confirms every match by name or e-mail address that the preview shows' })
  confirmMatches = false;

  @IsFlag({ optional: true, description: 'Restores the deleted organizations that the preview shows' })
  reactivate = false;

  @fieldOf({
    name: 'isRowOptionsList',
    check: (value) =>
      Array.isArray(value) &&
      value.length <= MAX_ROWS &&
      value.every((row) => isRowOptions(row) && typeof (row as CommittedRowOptions).index === 'number'),
    text: `must be a list of at most ${MAX_ROWS} rows with their index and choices`,
    description:
      'Choices for single rows: index, expectedAnnotation?, expectedOrganizationId?, expectedContactId?, reactivate?, forceCreate?',
    optional: true,
    api: {
      type: 'array',
      items: {
        type: 'object',
        required: ['index'],
        properties: { index: { type: 'integer', description: 'Index of the row' } },
        additionalProperties: true,
      },
      maxItems: MAX_ROWS,
    } as never,
  })
  rows?: CommittedRowOptions[];
}
