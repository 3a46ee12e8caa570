import { ApiProperty } from '@nestjs/swagger';
import { ANNOTATIONS, type Annotation } from '../import-rows.js';

export class UnknownColumnDto {
  @ApiProperty({ enum: ['unknown-column'] })
  code: 'unknown-column';

  @ApiProperty()
  column: string;

  @ApiProperty({ type: [Number], description: 'Indexes of the rows that have the column' })
  rows: number[];
}

/** A row as sent, with the effect that a commit would have. */
export class PreviewedRowDto {
  @ApiProperty({ type: 'integer' })
  index: number;

  @ApiProperty({ enum: ANNOTATIONS })
  annotation: Annotation;

  @ApiProperty({ type: String, nullable: true })
  slug: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  organizationId: string | null;

  @ApiProperty({ required: false })
  matchedOrganizationName?: string;

  @ApiProperty({ enum: ['link', 'name'], required: false })
  matchedBy?: 'link' | 'name';

  @ApiProperty({ required: false })
  matchedOrganizationLinkedToSystem?: boolean;

  @ApiProperty({ required: false })
  conflictReason?: string;

  [column: string]: unknown;
}

export class ImportPreviewDto {
  @ApiProperty({ type: [PreviewedRowDto], description: 'Each row as sent, with its fields added' })
  rows: PreviewedRowDto[];

  @ApiProperty({ type: [UnknownColumnDto] })
  warnings: UnknownColumnDto[];
}

class RowItemDto {
  @ApiProperty({ type: 'integer' })
  index: number;

  @ApiProperty()
  organization: string;

  @ApiProperty({ format: 'uuid' })
  organizationId: string;

  @ApiProperty()
  createdLink: boolean;
}

export class ImportedItemDto extends RowItemDto {
  @ApiProperty({ format: 'uuid' })
  siteId: string;

  @ApiProperty()
  siteName: string;

  @ApiProperty()
  createdOrganization: boolean;

  @ApiProperty()
  slug: string;
}

export class UpdatedItemDto extends RowItemDto {
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  siteId: string | null;

  @ApiProperty({ type: String, nullable: true })
  siteName: string | null;

  @ApiProperty()
  createdSite: boolean;

  @ApiProperty()
  reactivated: boolean;
}

export const SKIP_REASONS = ['already_linked', 'name_match_confirmed', 'created_concurrently'] as const;

export class SkippedItemDto extends RowItemDto {
  @ApiProperty({ enum: SKIP_REASONS })
  reason: (typeof SKIP_REASONS)[number];
}

export const IMPORT_ERROR_CODES = [
  'row-conflict',
  'annotation-changed',
  'match-changed',
  'name-match-unconfirmed',
  'soft-deleted-unconfirmed',
  'match-already-linked',
  'external-id-conflict',
  'organization-limit-reached',
  'write-failed',
] as const;
export type ImportErrorCode = (typeof IMPORT_ERROR_CODES)[number];

export class RowErrorDto {
  @ApiProperty({ type: 'integer' })
  index: number;

  @ApiProperty({ required: false })
  organization?: string;

  @ApiProperty()
  error: string;

  @ApiProperty({ enum: IMPORT_ERROR_CODES })
  code: ImportErrorCode;
}

export class ImportResultDto {
  @ApiProperty({ type: [ImportedItemDto] })
  imported: ImportedItemDto[];

  @ApiProperty({ type: [UpdatedItemDto] })
  updated: UpdatedItemDto[];

  @ApiProperty({ type: [SkippedItemDto] })
  skipped: SkippedItemDto[];

  @ApiProperty({ type: [RowErrorDto] })
  errors: RowErrorDto[];

  @ApiProperty({ type: [UnknownColumnDto] })
  warnings: UnknownColumnDto[];
}
