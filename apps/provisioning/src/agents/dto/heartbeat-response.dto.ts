import { ApiProperty } from '@nestjs/swagger';
import { AgentConfigDto } from './agent-config.dto.js';

export class HeartbeatResponseDto {
  @ApiProperty({ type: Boolean })
  success: boolean;

  @ApiProperty({ type: AgentConfigDto })
  config: AgentConfigDto;

  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description: 'Commands for the agent',
  })
  commands: object[];
}
