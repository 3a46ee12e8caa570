import { ApiProperty } from '@nestjs/swagger';

export class AgentConfigDto {
  @ApiProperty({ type: 'integer', example: 60, description: 'Seconds between two heartbeats' })
  heartbeatIntervalSeconds: number;

  @ApiProperty({ type: 'integer', example: 30, description: 'Seconds between two samples of the metrics' })
  metricsCollectionIntervalSeconds: number;
}
