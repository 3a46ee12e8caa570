import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';

export class UnknownColumnDto {
  @ApiProperty({ enum: ['unknown-column'], description: 'Stable code of the warning' })
  code: 'unknown-column';

  @ApiProperty({ description: 'Name of the column' })
  column: string;

  @ApiProperty({ type: [Number], description: 'Indexes of the rows that have the column' })
  rows: number[];
}

/** Creates the DTO of a row that was refused. @param codes  those of this kind of import */
export function createRowErrorDto<Code extends string>(codes: readonly Code[]) {
  class RowError {
    @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
    index: number;

    @ApiProperty({ required: false, description: 'Name of the organization, as the row has it' })
    organization?: string;

    @ApiProperty({ description: 'Text of the error' })
    error: string;

    @ApiProperty({ enum: codes, description: 'Stable code of the error' })
    code: Code;

    @ApiProperty({ required: false, description: 'Field of the row that is to blame; absent when it is not one alone' })
    field?: string;
  }
  return RowError;
}

/** Creates the DTO of the result of an import. @param lists  the DTO of an item of each list */
export function createImportResultDto<Imported, Updated, Skipped, RowError>(lists: {
  imported: Type<Imported>;
  updated: Type<Updated>;
  skipped: Type<Skipped>;
  errors: Type<RowError>;
}) {
  class ImportResult {
    @ApiProperty({ type: [lists.imported], description: 'Rows that created a record' })
    imported: Imported[];

    @ApiProperty({ type: [lists.updated], description: 'Rows that changed a record' })
    updated: Updated[];

    @ApiProperty({ type: [lists.skipped], description: 'Rows that changed nothing' })
    skipped: Skipped[];

    @ApiProperty({ type: [lists.errors], description: 'Rows that were refused' })
    errors: RowError[];

    @ApiProperty({ type: [UnknownColumnDto], description: 'Columns that are not known and were ignored' })
    warnings: UnknownColumnDto[];

    @ApiProperty({ format: 'uuid', description: 'The import run, by which the import can be undone' })
    runId: string;
  }
  return ImportResult;
}
