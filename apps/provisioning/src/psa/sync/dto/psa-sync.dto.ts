import { ApiProperty } from '@nestjs/swagger';
import { IsFlag, IsInteger, IsOneOf } from '@rmm/validation';
import { TRUNCATION_REASONS, type TruncationReason } from '../../list-companies.js';
import { SYNC_OUTCOMES, SYNC_RULES, type SyncOutcome, type SyncRule } from '../psa-sync.entity.js';

export class UpdatePsaSyncDto {
  @IsFlag({ description: 'Whether the sync runs by itself; it is disabled unless enabled here' })
  enabled!: boolean;

  @IsOneOf(SYNC_RULES, {
    optional: true,
    description:
      '`propose` lists new companies for a decision, `import` imports those that match no organization; stays when absent, `propose` at first',
  })
  rule?: SyncRule;

  @IsInteger({
    min: 60,
    max: 10_080,
    optional: true,
    description: 'Minutes between two runs, varied by a tenth; stays when absent, 1,440 at first',
  })
  intervalMinutes?: number;
}

class SyncErrorDto {
  @ApiProperty({ description: 'Stable code of the error' })
  code!: string;
  @ApiProperty({ description: 'Text of the error' })
  message!: string;
}

export class SyncResultDto {
  @ApiProperty({ enum: SYNC_OUTCOMES, description: 'How the run ended' })
  outcome!: SyncOutcome;
  @ApiProperty({ type: 'integer', description: 'Companies that were read' })
  fetched!: number;
  @ApiProperty({ type: 'integer', description: 'New proposals of companies' })
  proposed!: number;
  @ApiProperty({ type: 'integer', description: 'Organizations that were created' })
  imported!: number;
  @ApiProperty({ type: 'integer', description: 'Companies with another name than their organization' })
  renamed!: number;
  @ApiProperty({
    enum: TRUNCATION_REASONS,
    nullable: true,
    type: String,
    description: 'Why not all companies were read; null when all were',
  })
  truncationReason!: TruncationReason | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The import run, which can be undone' })
  runId!: string | null;
  @ApiProperty({ type: SyncErrorDto, nullable: true, description: 'Why the run failed; null when it did not' })
  error!: SyncErrorDto | null;
}

const time = { type: String, format: 'date-time', nullable: true } as const;

export class PsaSyncDto {
  @ApiProperty({ description: 'Whether the sync runs by itself' })
  enabled!: boolean;
  @ApiProperty({ enum: SYNC_RULES, description: 'What a run does with new companies' })
  rule!: SyncRule;
  @ApiProperty({ type: 'integer', description: 'Minutes between two runs' })
  intervalMinutes!: number;
  @ApiProperty({ description: 'Whether a run is under way' })
  running!: boolean;
  @ApiProperty({ ...time, description: 'Null unless enabled' })
  nextRunAt!: string | null;
  @ApiProperty({ ...time, description: 'When the last run began; null: never' })
  lastRunAt!: string | null;
  @ApiProperty({ type: SyncResultDto, nullable: true, description: 'Result of the last run; null before the first' })
  lastResult!: SyncResultDto | null;
  @ApiProperty({ type: 'integer', description: 'Failed runs in a row; the wait doubles with each' })
  failures!: number;
  @ApiProperty({
    enum: ['credentials'],
    nullable: true,
    type: String,
    description: 'Set when the sync disabled itself because the PSA kept refusing the credentials',
  })
  disabledReason!: 'credentials' | null;
}
