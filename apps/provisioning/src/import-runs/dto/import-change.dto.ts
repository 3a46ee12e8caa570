import { ApiProperty } from '@nestjs/swagger';
import {
  IMPORT_CHANGE_OUTCOMES,
  type ImportChangeAction,
  type ImportChangeOutcome,
  type ImportedResource,
} from '../journal/import-change.entity.js';
import { KEPT_REASONS, type KeptReason } from '../undo/undo-plan.types.js';
import { CursorPaginationDto } from './import-run-row.dto.js';

/** A change of a run, and what became of it when the run was undone. */
export class ImportChangeDto {
  @ApiProperty({
    enum: ['organization', 'organization_link', 'site', 'contact', 'contact_link'],
    description: 'Kind of the changed record',
  })
  resource: ImportedResource;

  @ApiProperty({ enum: ['create', 'update', 'reactivate'], description: 'What the import did' })
  action: ImportChangeAction;

  @ApiProperty({ format: 'uuid', description: 'For a link the organization or contact that has it' })
  recordId: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the changed record' })
  organizationId: string;

  @ApiProperty({
    type: String,
    enum: IMPORT_CHANGE_OUTCOMES,
    nullable: true,
    description: 'Null while it is not undone',
  })
  outcome: ImportChangeOutcome | null;

  @ApiProperty({ type: String, enum: KEPT_REASONS, nullable: true, description: 'Why it was kept' })
  reason: KeptReason | null;
}

export class ImportChangesDto {
  @ApiProperty({ type: [ImportChangeDto], description: 'The changes of the page' })
  data: ImportChangeDto[];

  @ApiProperty({ type: CursorPaginationDto, description: 'Position of the page' })
  pagination: CursorPaginationDto;
}
