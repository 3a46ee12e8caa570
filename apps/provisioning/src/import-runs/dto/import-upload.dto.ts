import type { ApiBodyOptions } from '@nestjs/swagger';
import type { BodyRule } from '@rmm/service-kit';
import { fieldOf, IsOneOf, IsUuid } from '@rmm/validation';
import { FILE_LIMITS } from '../files/file.limits.js';
import { IMPORT_KINDS, type ImportKind } from '../import-run.entity.js';

/** Room for the other fields and the boundaries of the form. */
const ENVELOPE_BYTES = 64 * 1024;
const UPLOAD_MS = 120_000;

export const IMPORT_UPLOAD_BODY: BodyRule = {
  path: '/imports',
  exact: true,
  limitBytes: FILE_LIMITS.bytes + ENVELOPE_BYTES,
  contentTypes: ['multipart/form-data'],
  read: 'stream',
};
export const IMPORT_UPLOAD_TIMEOUT = { path: '/imports', exact: true, timeoutMs: UPLOAD_MS } as const;

export const IMPORT_UPLOAD_FORM: ApiBodyOptions = {
  schema: {
    type: 'object',
    required: ['file', 'kind'],
    properties: {
      partnerId: { type: 'string', format: 'uuid', description: 'Required in system scope, before the file' },
      kind: { type: 'string', enum: [...IMPORT_KINDS] },
      mapping: {
        type: 'string',
        description: 'JSON object with the column for each field; guessed from the header when absent',
        example: '{"organization":"Company","externalId":"Account no."}',
      },
      file: { type: 'string', format: 'binary', description: 'CSV or XLSX, at most 25 MB and 100,000 rows' },
    },
  },
};

const MAX_MAPPING = 20_000;

/** Returns the mapping that a text or object states; null when it is malformed. */
export function readMapping(value: unknown): Record<string, string> | null {
  let given = value;
  if (typeof value === 'string') {
    if (value.length > MAX_MAPPING) return null;
    try {
      given = JSON.parse(value);
    } catch {
      return null;
    }
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null;
  const entries = Object.entries(given);
  const isValid = entries.every(([, column]) => typeof column === 'string' && column !== '' && column.length <= 255);
  return isValid && entries.length <= 50 ? (given as Record<string, string>) : null;
}

/** The fields of the form besides the file. */
export class UploadImportDto {
  @IsOneOf(IMPORT_KINDS, { description: 'Kind of the import' })
  kind!: ImportKind;

  @fieldOf({
    name: 'isMapping',
    check: (value) => readMapping(value) !== null,
    text: 'must be a JSON object with a column for each field',
    description: 'JSON object with the column of the file for each field',
    optional: true,
    api: { type: 'string' },
  })
  mapping?: string;

  @IsUuid({ optional: true, description: 'Required in system scope' })
  partnerId?: string;
}

export class UpdateImportRunDto {
  @fieldOf({
    name: 'isMapping',
    check: (value) => typeof value === 'object' && readMapping(value) !== null,
    text: 'must be an object with a column for each field',
    description: 'The column of the file for each field',
    api: { type: 'object', additionalProperties: { type: 'string' } } as never,
  })
  mapping!: Record<string, string>;
}
