import { ApiProperty } from '@nestjs/swagger';

/** A row of `dead_letter`. */
export interface DeadLetterRow {
  deliveryId: string;
  webhookId: string;
  orgId: string;
  event: string;
  eventId: string;
  attempts: number;
  responseStatus: number | null;
  errorMessage: string | null;
  failedAt: Date;
}

/** A delivery that used up its retries and that nobody has taken up since. @see CONTRACT.md 4.9 */
export class DeadLetterDto {
  @ApiProperty({ format: 'uuid', description: 'Names it in the queue and here; the id of the delivery' })
  jobId!: string;
  @ApiProperty({ format: 'uuid' })
  deliveryId!: string;
  @ApiProperty({ format: 'uuid' })
  webhookId!: string;
  @ApiProperty({ format: 'uuid' })
  orgId!: string;
  @ApiProperty()
  event!: string;
  @ApiProperty()
  eventId!: string;
  @ApiProperty({ type: 'integer', description: 'Attempts made' })
  attempts!: number;
  @ApiProperty({ type: 'integer', nullable: true })
  responseStatus!: number | null;
  @ApiProperty({ type: String, nullable: true })
  errorMessage!: string | null;
  @ApiProperty({ format: 'date-time' })
  failedAt!: string;
}

export class DeletedDeadLetterDto {
  @ApiProperty({ enum: [true] })
  success!: true;
}

export const toDeadLetterDto = (row: DeadLetterRow): DeadLetterDto => ({
  jobId: row.deliveryId,
  deliveryId: row.deliveryId,
  webhookId: row.webhookId,
  orgId: row.orgId,
  event: row.event,
  eventId: row.eventId,
  attempts: row.attempts,
  responseStatus: row.responseStatus,
  errorMessage: row.errorMessage,
  failedAt: row.failedAt.toISOString(),
});
