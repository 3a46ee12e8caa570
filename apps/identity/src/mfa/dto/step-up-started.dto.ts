import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { RequestOptionsDto } from '../../passkeys/dto/passkey-options.dto.js';

export class StepUpStartedDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
  @ApiPropertyOptional({ type: RequestOptionsDto, description: 'Only for a passkey' })
  options?: RequestOptionsDto;
}
