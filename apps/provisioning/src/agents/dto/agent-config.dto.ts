import { ApiProperty } from '@nestjs/swagger';

export class AgentConfigDto {
  @ApiProperty({ type: 'integer', example: 60 })
  heartbeatIntervalSeconds: number;

  @ApiProperty({ type: 'integer', example: 30 })
  metricsCollectionIntervalSeconds: number;
}
