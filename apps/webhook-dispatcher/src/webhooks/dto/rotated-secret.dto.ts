import { ApiProperty } from '@nestjs/swagger';

/** @see CONTRACT.md 4.9 */
export class RotatedSecretDto {
  @ApiProperty({ format: 'uuid' })
  id!: string;
  @ApiProperty({ type: 'boolean', enum: [true] })
  hasSecret!: true;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Until when the old secret signs beside the new one; null: it no longer does',
  })
  secretOverlapUntil!: string | null;
  @ApiProperty({ required: false, description: '`whsec_` and 43 characters; only when it was generated, and only now' })
  secret?: string;
  @ApiProperty({ required: false, description: 'A reminder to store the secret' })
  warning?: string;
}

/** Beside every secret that is shown. */
export const STORE_IT_NOW = 'Store this secret now: it is not shown again.';
