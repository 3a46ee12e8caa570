import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf } from '@rmm/validation';
import { PreviewedRowDto } from '../../import/dto/import-results.dto.js';
import { IsRowList } from '../../import/dto/import-rows.dto.js';
import type { ImportMode } from '../../import/import-decision.policy.js';
import { TRUNCATION_REASONS, type TruncationReason } from '../list-companies.js';

export class UnknownTimeZoneDto {
  @ApiProperty({ enum: ['unknown-time-zone'], description: 'Stable code of the warning' })
  code!: 'unknown-time-zone';
  @ApiProperty({ type: 'integer', description: 'Position in the request, counted from 0' })
  index!: number;
  @ApiProperty({ description: 'As the PSA names it; the row is imported without it' })
  timezone!: string;
}

export class PsaPreviewDto {
  @ApiProperty({ type: [PreviewedRowDto], description: 'Companies that are not linked, with the effect of a commit' })
  rows!: PreviewedRowDto[];
  @ApiProperty({ description: 'Whether the PSA has companies that were not read' })
  truncated!: boolean;
  @ApiProperty({
    enum: TRUNCATION_REASONS,
    nullable: true,
    type: String,
    description: 'Why not all companies were read; null when all were',
  })
  truncationReason!: TruncationReason | null;
  @ApiProperty({ type: 'integer', description: 'Companies that were read' })
  fetched!: number;
  @ApiProperty({ type: 'integer', description: 'Those that are linked to an organization, and not among the rows' })
  alreadyLinked!: number;
  @ApiProperty({ type: 'integer', description: 'Those without an id or a name, and not among the rows' })
  malformed!: number;
  @ApiProperty({ type: 'integer', description: 'The most rows of a preview' })
  cap!: number;
  @ApiProperty({ type: [UnknownTimeZoneDto], description: 'Columns or fields that are not known and were ignored' })
  warnings!: UnknownTimeZoneDto[];
}

export class CommitPsaImportDto {
  @IsRowList('Rows of a preview: organization, externalId, site?, timezone?, address?, contact?')
  rows!: unknown[];

  @IsOneOf(['skip', 'update'], { optional: true, description: '`skip` by default' })
  mode?: ImportMode;
}
