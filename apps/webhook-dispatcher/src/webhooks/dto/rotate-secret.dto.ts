import { ApiProperty } from '@nestjs/swagger';
import { IsInteger, IsText } from '@rmm/validation';

export class RotateSecretDto {
  @IsText({ min: 1, max: 255, optional: true, description: 'Generated and returned once when absent' })
  secret?: string;

  @IsInteger({
    min: 0,
    max: 86_400,
    optional: true,
    description: 'How long deliveries also carry the signature of the previous secret; default 86400, 0 for no overlap',
  })
  overlapSeconds?: number;
}

/** @see docs/reference/webhooks.md */
export class RotatedSecretDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the webhook' })
  id!: string;
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Whether deliveries are signed' })
  hasSecret!: true;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Until when the previous secret signs in addition to the new one; null when it does not',
  })
  secretOverlapUntil!: string | null;
  @ApiProperty({
    required: false,
    description: '`whsec_` and 43 characters; present only when it was generated, in this response alone',
  })
  secret?: string;
  @ApiProperty({ required: false, description: 'A reminder to store the secret' })
  warning?: string;
}

/** Accompanies every secret that a response contains. */
export const STORE_SECRET_WARNING = 'Store this secret now: it is not shown again.';
