import { ApiProperty } from '@nestjs/swagger';
import { WebhookHeaderDto } from '../../webhooks/dto/webhook-header.dto.js';
import type { WebhookHeader } from '../../webhooks/webhook-headers.policy.js';

export const ATTEMPT_OUTCOMES = ['delivered', 'retrying', 'failed'] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** One HTTP request of a delivery. */
export class AttemptDto {
  @ApiProperty({ type: 'integer', description: 'Counts from 1' })
  attempt!: number;
  @ApiProperty({ format: 'date-time', description: 'When the attempt began' })
  startedAt!: string;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Null when nothing was sent' })
  durationMs!: number | null;
  @ApiProperty({ enum: ATTEMPT_OUTCOMES, description: 'The status of the delivery after the attempt' })
  outcome!: AttemptOutcome;
  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status of the response; null without one' })
  responseStatus!: number | null;
  @ApiProperty({
    type: [WebhookHeaderDto],
    description:
      'As sent, without those of the connection; signatures and secret values masked. Empty when nothing was sent',
  })
  requestHeaders!: WebhookHeader[];
  @ApiProperty({
    type: [WebhookHeaderDto],
    description: 'The first 40, at most 4,096 characters in total; secret values masked',
  })
  responseHeaders!: WebhookHeader[];
  @ApiProperty({ type: String, nullable: true, description: 'The first 1,000 characters' })
  responseBody!: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'Why the attempt failed; null when it did not' })
  errorMessage!: string | null;
}
