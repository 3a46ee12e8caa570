import { ApiProperty, PickType } from '@nestjs/swagger';
import { ApiKeyDto } from './api-key.dto.js';

class RevokedKeyDto extends PickType(ApiKeyDto, ['id', 'name', 'keyPrefix', 'updatedAt']) {
  @ApiProperty({ enum: ['revoked'], description: 'State of the key' })
  status: 'revoked';
}

export class RevokedApiKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
  @ApiProperty({ description: 'A message for the user' })
  message: string;
  @ApiProperty({ type: RevokedKeyDto, description: 'The revoked key' })
  apiKey: RevokedKeyDto;
}
