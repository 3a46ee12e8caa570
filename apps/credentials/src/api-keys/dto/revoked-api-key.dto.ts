import { ApiProperty, PickType } from '@nestjs/swagger';
import { ApiKeyDto } from './api-key.dto.js';

class RevokedKeyDto extends PickType(ApiKeyDto, ['id', 'name', 'keyPrefix', 'updatedAt']) {
  @ApiProperty({ enum: ['revoked'] })
  status: 'revoked';
}

export class RevokedApiKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
  @ApiProperty({ description: 'A message for the user' })
  message: string;
  @ApiProperty({ type: RevokedKeyDto })
  apiKey: RevokedKeyDto;
}
