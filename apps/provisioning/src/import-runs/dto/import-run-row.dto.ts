import { ApiProperty } from '@nestjs/swagger';
import { IsCursor, IsFlag, IsInteger, IsOneOf } from '@rmm/validation';
import { ROW_RESULTS, type RowResult } from '../import-run-row.entity.js';

export const ROW_ANNOTATIONS = [
  'create',
  'link-match',
  'name-match',
  'email-match',
  'matched-soft-deleted',
  'conflict',
  'org-not-found',
  'invalid',
] as const;

export class ListImportRowsDto {
  @IsInteger({ min: 1, max: 200, optional: true, description: 'Rows a page' })
  limit = 50;

  @IsCursor({ optional: true, description: 'Of the page before' })
  cursor?: string;

  @IsOneOf(ROW_ANNOTATIONS, { optional: true, description: 'Only those with this effect' })
  annotation?: (typeof ROW_ANNOTATIONS)[number];

  @IsOneOf(ROW_RESULTS, { optional: true, description: 'Only those with this result' })
  result?: RowResult;

  @IsFlag({ optional: true, description: 'Only rows that were refused, or before the commit would be' })
  refused = false;
}

export class ListImportChangesDto {
  @IsInteger({ min: 1, max: 200, optional: true, description: 'Changes a page' })
  limit = 50;

  @IsCursor({ optional: true, description: 'Of the page before' })
  cursor?: string;

  @IsOneOf(['removed', 'restored', 'kept'], { optional: true, description: 'Only those with this outcome' })
  outcome?: 'removed' | 'restored' | 'kept';
}

export class ImportRunRowDto {
  @ApiProperty({ type: 'integer', description: 'From 0, without the header' })
  index: number;

  @ApiProperty({ type: 'integer', description: 'Line or row number in the file, from 1' })
  line: number;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, description: 'The cells by their column' })
  cells: Record<string, string>;

  @ApiProperty({ type: String, enum: ROW_ANNOTATIONS, nullable: true, description: 'The effect of a commit' })
  annotation: string | null;

  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Id of the organization; null when there is none',
  })
  organizationId: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The organization or contact it matches' })
  matchId: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Name of the record that the row matches' })
  matchName: string | null;

  @ApiProperty({ type: String, enum: ROW_RESULTS, nullable: true, description: 'Null before the commit' })
  result: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Of the error, or why the row was skipped' })
  code: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Why the row was refused or skipped' })
  reason: string | null;
}

class CursorPaginationDto {
  @ApiProperty({ type: 'integer', description: 'Records per page, as applied' })
  limit: number;

  @ApiProperty({ type: String, nullable: true, description: 'Null on the last page' })
  nextCursor: string | null;
}

export class ImportRunRowsDto {
  @ApiProperty({ type: [ImportRunRowDto], description: 'The rows of the page' })
  data: ImportRunRowDto[];

  @ApiProperty({ type: CursorPaginationDto, description: 'Position of the page' })
  pagination: CursorPaginationDto;
}

export { CursorPaginationDto };
