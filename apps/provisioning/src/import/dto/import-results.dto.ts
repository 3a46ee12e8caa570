import { ApiProperty } from '@nestjs/swagger';
import { ANNOTATIONS, type Annotation } from '../import-rows.js';
import { createImportResultDto, createRowErrorDto, UnknownColumnDto } from './import-outcome.dto.js';

/** A row as sent, with the effect that a commit would have. */
export class PreviewedRowDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
  index: number;

  @ApiProperty({ enum: ANNOTATIONS, description: 'Effect that a commit of the row would have' })
  annotation: Annotation;

  @ApiProperty({ type: String, nullable: true, description: 'Slug that the organization has or would get' })
  slug: string | null;

  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Id of the organization; null when there is none',
  })
  organizationId: string | null;

  @ApiProperty({ required: false, description: 'Name of the organization that the row matches' })
  matchedOrganizationName?: string;

  @ApiProperty({
    enum: ['link', 'name'],
    required: false,
    description: 'Whether the row matches by external id or by name',
  })
  matchedBy?: 'link' | 'name';

  @ApiProperty({ required: false, description: 'Whether that organization is linked to another id of the same system' })
  matchedOrganizationLinkedToSystem?: boolean;

  @ApiProperty({ required: false, description: 'Why the row conflicts; only for a conflict' })
  conflictReason?: string;

  @ApiProperty({ required: false, description: 'Field of the row that is to blame for the conflict' })
  conflictField?: string;

  [column: string]: unknown;
}

export class ImportPreviewDto {
  @ApiProperty({ type: [PreviewedRowDto], description: 'Each row as sent, with its fields added' })
  rows: PreviewedRowDto[];

  @ApiProperty({ type: [UnknownColumnDto], description: 'Columns or fields that are not known and were ignored' })
  warnings: UnknownColumnDto[];
}

class RowItemDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
  index: number;

  @ApiProperty({ description: 'Name of the organization' })
  organization: string;

  @ApiProperty({ format: 'uuid', description: 'Id of the organization; null when there is none' })
  organizationId: string;

  @ApiProperty({ description: 'Whether the record was linked to the external id' })
  createdLink: boolean;
}

export class ImportedItemDto extends RowItemDto {
  @ApiProperty({ format: 'uuid', description: 'Site of the row' })
  siteId: string;

  @ApiProperty({ description: 'Name of the site' })
  siteName: string;

  @ApiProperty({ description: 'Whether the organization was created' })
  createdOrganization: boolean;

  @ApiProperty({ description: 'Slug of the organization' })
  slug: string;
}

export class UpdatedItemDto extends RowItemDto {
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Site of the row; null without one' })
  siteId: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Name of the site' })
  siteName: string | null;

  @ApiProperty({ description: 'Whether the site was created' })
  createdSite: boolean;

  @ApiProperty({ description: 'Whether a deleted organization was restored' })
  reactivated: boolean;
}

export const SKIP_REASONS = ['already_linked', 'name_match_confirmed', 'created_concurrently'] as const;

export class SkippedItemDto extends RowItemDto {
  @ApiProperty({ enum: SKIP_REASONS, description: 'Why the row was skipped' })
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

export class RowErrorDto extends createRowErrorDto(IMPORT_ERROR_CODES) {}

export class ImportResultDto extends createImportResultDto({
  imported: ImportedItemDto,
  updated: UpdatedItemDto,
  skipped: SkippedItemDto,
  errors: RowErrorDto,
}) {}
