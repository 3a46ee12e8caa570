import { ApiProperty } from '@nestjs/swagger';

/** A delivery that used up its retries and has not been retried since. @see docs/reference/webhooks.md */
export class DeadLetterDto {
  @ApiProperty({
    format: 'uuid',
    description: 'The id of the delivery; names the dead letter in routes and in the queue',
  })
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
