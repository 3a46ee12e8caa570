import { ApiProperty } from '@nestjs/swagger';
import { AGENT_CONFIG } from '../agent-config.js';

export class HeartbeatAnswerDto {
  @ApiProperty()
  success = true;
  @ApiProperty({ type: 'object', additionalProperties: true })
  config = AGENT_CONFIG;
  @ApiProperty({ type: [Object], description: 'What the agent is to do' })
  commands: object[] = [];
}
