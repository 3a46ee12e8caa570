import { ApiProperty } from '@nestjs/swagger';

export class TokenRotationDto {
  @ApiProperty({ type: Boolean, description: 'Always true; a failure is an error response' })
  success: true;

  @ApiProperty({
    format: 'date-time',
    description: 'When the present token ends if the agent has not used the next one',
  })
  expiresAt: string;
}
