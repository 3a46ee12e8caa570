import { PickType, IntersectionType } from '@nestjs/swagger';
import { IsInteger } from '@rmm/validation';
import { ApiKeyDto, CreatedApiKeyDto } from './api-key.dto.js';

export class RotateApiKeyDto {
  @IsInteger({
    description: 'How long the previous key also works; default 0: not at all',
    min: 0,
    max: 86_400,
    optional: true,
  })
  overlapSeconds?: number;
}

export class RotatedApiKeyDto extends IntersectionType(ApiKeyDto, PickType(CreatedApiKeyDto, ['key', 'warning'])) {}
