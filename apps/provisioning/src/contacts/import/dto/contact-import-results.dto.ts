import { ApiProperty } from '@nestjs/swagger';
import { createImportResultDto, createRowErrorDto, UnknownColumnDto } from '../../../import/dto/import-outcome.dto.js';
import { CONTACT_ANNOTATIONS, type ContactAnnotation } from '../contact-rows.js';

/** A row as sent, with the effect that a commit would have. */
export class PreviewedContactRowDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
  index: number;

  @ApiProperty({ enum: CONTACT_ANNOTATIONS, description: 'Effect that a commit of the row would have' })
  annotation: ContactAnnotation;

  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Id of the organization; null when there is none',
  })
  organizationId: string | null;

  @ApiProperty({ required: false, description: 'The same as organizationName' })
  // eslint-disable-next-line rmm/plain-identifiers -- the API has both spellings
  organisationName?: string; // cspell:disable-line

  @ApiProperty({ required: false, description: 'Name of the organization' })
  organizationName?: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Site of the contact; null without one' })
  siteId: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null also for a match in an earlier row' })
  contactId: string | null;

  @ApiProperty({
    type: String,
    required: false,
    nullable: true,
    description: 'Name of the contact that the row matches',
  })
  matchedContactName?: string | null;

  @ApiProperty({
    type: String,
    required: false,
    nullable: true,
    description: 'E-mail address of the contact that the row matches',
  })
  matchedContactEmail?: string | null;

  @ApiProperty({ required: false, description: 'Why the row conflicts; only for a conflict' })
  conflictReason?: string;

  @ApiProperty({ required: false, description: 'Field of the row that is to blame for the conflict' })
  conflictField?: string;

  @ApiProperty({ required: false, description: 'The row is imported all the same' })
  warning?: string;

  [column: string]: unknown;
}

export class ContactImportPreviewDto {
  @ApiProperty({ type: [PreviewedContactRowDto], description: 'Each row as sent, with its fields added' })
  rows: PreviewedContactRowDto[];

  @ApiProperty({ type: [UnknownColumnDto], description: 'Columns or fields that are not known and were ignored' })
  warnings: UnknownColumnDto[];
}

class ContactItemDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
  index: number;

  @ApiProperty({ format: 'uuid', description: 'Id of the organization; null when there is none' })
  organizationId: string;

  @ApiProperty({ format: 'uuid', description: 'Id of the contact' })
  contactId: string;
}

export class WrittenContactDto extends ContactItemDto {
  @ApiProperty({ type: String, nullable: true, description: 'Name of the contact' })
  name: string | null;

  @ApiProperty({ description: 'Whether the record was linked to the external id' })
  createdLink: boolean;
}

export class SkippedContactDto extends ContactItemDto {
  @ApiProperty({ enum: ['already_linked'], description: 'Why the row was skipped' })
  reason: 'already_linked';
}

export const CONTACT_IMPORT_ERROR_CODES = [
  'row-conflict',
  'org-not-found',
  'annotation-changed',
  'match-changed',
  'match-unconfirmed',
  'no-identifier',
  'invalid-role',
  'site-not-in-org',
  'write-failed',
] as const;
export type ContactImportErrorCode = (typeof CONTACT_IMPORT_ERROR_CODES)[number];

export class ContactErrorDto extends createRowErrorDto(CONTACT_IMPORT_ERROR_CODES) {}

export class ContactImportResultDto extends createImportResultDto({
  imported: WrittenContactDto,
  updated: WrittenContactDto,
  skipped: SkippedContactDto,
  errors: ContactErrorDto,
}) {}
