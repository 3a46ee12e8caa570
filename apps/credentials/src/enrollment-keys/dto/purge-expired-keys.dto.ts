import { ApiProperty } from '@nestjs/swagger';
import { IsUuid } from '@rmm/validation';

export class PurgeExpiredKeysDto {
  @IsUuid({ description: 'Required unless the caller belongs to one organization', optional: true })
  orgId?: string;
}

export class PurgedKeysDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true' })
  success: true;
  @ApiProperty({ type: 'integer', description: 'Number of keys that were deleted' })
  deletedCount: number;
}
