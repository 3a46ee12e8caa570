import { ApiProperty } from '@nestjs/swagger';
import {
  IMPORT_KINDS,
  IMPORT_SOURCES,
  IMPORT_STATES,
  type ImportKind,
  type ImportRunState,
  type ImportSource,
} from '../import-run.entity.js';

export class ImportFailureDto {
  @ApiProperty({ example: 'import_file_malformed', description: 'Stable code of the error' })
  code: string;

  @ApiProperty({ description: 'Text of the error' })
  error: string;
}

export class ImportUndoDto {
  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Null when it cannot be undone' })
  until: string | null;

  @ApiProperty({ type: 'integer', description: 'Changes that were undone' })
  restored: number;

  @ApiProperty({ type: 'integer', description: 'Changes that could not be undone; listed by `/changes?outcome=kept`' })
  kept: number;
}

export class ImportRunDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the import' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Partner of the import' })
  partnerId: string;

  @ApiProperty({ enum: IMPORT_KINDS, description: 'Kind of the import' })
  kind: ImportKind;

  @ApiProperty({ enum: IMPORT_SOURCES, description: 'Where the rows come from' })
  source: ImportSource;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Of the PSA' })
  connectionId: string | null;

  @ApiProperty({ enum: IMPORT_STATES, description: 'Step that the import has reached' })
  state: ImportRunState;

  @ApiProperty({ type: String, enum: ['skip', 'update'], nullable: true, description: 'Null before its commit' })
  mode: 'skip' | 'update' | null;

  @ApiProperty({ type: String, nullable: true, description: 'Name of the uploaded file; null without one' })
  fileName: string | null;

  @ApiProperty({ type: [String], nullable: true, description: 'The header of the file' })
  columns: string[] | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    nullable: true,
    description: 'The column of the file for each field',
  })
  mapping: Record<string, string> | null;

  @ApiProperty({ type: 'integer', description: 'Rows of the import' })
  total: number;

  @ApiProperty({ type: 'integer', description: 'Rows that the current step has done; changes while it is undone' })
  done: number;

  @ApiProperty({ type: 'integer', description: 'Records that were created' })
  imported: number;

  @ApiProperty({ type: 'integer', description: 'Records that were changed' })
  updated: number;

  @ApiProperty({ type: 'integer', description: 'Rows that were skipped' })
  skipped: number;

  @ApiProperty({ type: 'integer', description: 'Rows that failed' })
  failed: number;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'Rows of the file by the effect that a commit would have',
  })
  annotations: Record<string, number>;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Estimated seconds until the current step is done' })
  etaSeconds: number | null;

  @ApiProperty({ type: ImportUndoDto, description: 'Whether and until when the import can be undone' })
  undo: ImportUndoDto;

  @ApiProperty({ type: ImportFailureDto, nullable: true, description: 'Why the import failed; null when it did not' })
  failure: ImportFailureDto | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null for a scheduled sync' })
  createdBy: string | null;

  @ApiProperty({ format: 'date-time', description: 'When the import was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the import was last changed' })
  updatedAt: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'When the commit began; null before' })
  committedAt: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When it ended; null while it is under way',
  })
  finishedAt: string | null;
}
