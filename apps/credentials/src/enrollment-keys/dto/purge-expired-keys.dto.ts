import { ApiProperty } from '@nestjs/swagger';
import { IsUuid } from '@rmm/service-kit';

export class PurgeExpiredKeysDto {
  @IsUuid({ description: 'Inferred for callers of one organization, needed from all others', optional: true })
  orgId?: string;
}

export class PurgedKeysDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
  @ApiProperty({ type: 'integer' })
  deletedCount: number;
}
