import { ApiProperty } from '@nestjs/swagger';
import { AgentConfigDto } from './agent-config.dto.js';

export class AgentCommandDto {
  @ApiProperty({ type: String, format: 'uuid', description: 'Id of the command' })
  id: string;

  @ApiProperty({ type: String, example: 'dev_push', description: 'What the agent shall do' })
  type: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { downloadUrl: 'https://api.example.com/api/v1/dev/push/download/...', component: 'agent' },
    description: 'Values of the command',
  })
  payload: object;
}

export class HeartbeatResponseDto {
  @ApiProperty({ type: Boolean, description: 'Always true; a failure is an error response' })
  success: boolean;

  @ApiProperty({ type: AgentConfigDto, description: 'Settings for the agent' })
  config: AgentConfigDto;

  @ApiProperty({ type: [AgentCommandDto], description: 'Commands for the agent, oldest first; each is sent once' })
  commands: AgentCommandDto[];
}
