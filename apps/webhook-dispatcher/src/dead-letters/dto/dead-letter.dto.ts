import { ApiProperty, OmitType } from '@nestjs/swagger';

/** A delivery that used up its retries and has not been retried since. @see docs/reference/webhooks.md */
export class DeadLetterDto {
  @ApiProperty({
    format: 'uuid',
    description: 'The id of the delivery; names the dead letter in routes and in the queue',
  })
  jobId!: string;
  @ApiProperty({ format: 'uuid', description: 'Id of the delivery' })
  deliveryId!: string;
  @ApiProperty({ format: 'uuid', description: 'Id of the webhook' })
  webhookId!: string;
  @ApiProperty({ type: String, format: 'uuid', description: 'Organization of the dead letter' })
  orgId!: string | null;
  @ApiProperty({ description: 'Type of the event' })
  event!: string;
  @ApiProperty({ description: 'Id of the event; the same in each delivery of it' })
  eventId!: string;
  @ApiProperty({ type: 'integer', description: 'Attempts made' })
  attempts!: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status of the response; null without one' })
  responseStatus!: number | null;
  @ApiProperty({ type: String, nullable: true, description: 'Why the last attempt failed' })
  errorMessage!: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the last attempt failed' })
  failedAt!: string;
}

/** A dead letter of a webhook of a partner. */
export class PartnerDeadLetterDto extends OmitType(DeadLetterDto, ['orgId']) {
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Organization of the event; null for a test',
  })
  orgId!: string | null;
}

export class DeletedDeadLetterDto {
  @ApiProperty({ enum: [true], description: 'Always true; a failure is an error response' })
  success!: true;
}
