import { ApiProperty } from '@nestjs/swagger';

export class StepUpGrantedDto {
  @ApiProperty({ description: 'Valid once, for the requested operation in this session' })
  stepUpGrantId: string;
  @ApiProperty({ type: 'integer', example: 300, description: 'Seconds until the grant expires' })
  expiresInSeconds: number;
}
