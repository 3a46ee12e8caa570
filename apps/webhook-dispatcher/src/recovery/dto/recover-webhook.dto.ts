import { ApiProperty } from '@nestjs/swagger';
import { IsIsoDateTime, IsOneOf } from '@rmm/validation';

export const RECOVERABLE_STATUSES = ['failed', 'retrying'] as const;
export type RecoverableStatus = (typeof RECOVERABLE_STATUSES)[number];

export class RecoverWebhookDto {
  @IsIsoDateTime({ description: 'Deliveries created at this time or later' })
  since!: Date;

  @IsIsoDateTime({ optional: true, description: 'Deliveries created before this time; now by default' })
  until?: Date;

  @IsOneOf(RECOVERABLE_STATUSES, {
    optional: true,
    description: '`failed` (default) sends their events again; `retrying` starts the next attempt now',
  })
  status?: RecoverableStatus;
}

export class RecoveredDto {
  @ApiProperty({ type: 'integer', description: 'Deliveries that will be sent, at most 10,000 in each request' })
  accepted!: number;
}
