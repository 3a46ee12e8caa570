import { AgentToken, CurrentCaller, SkipFallbackAudit, type AgentCaller } from '@rmm/access';
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { UuidParam } from '@rmm/service-kit';
import { AgentsService } from './agents.service.js';
import { HeartbeatAnswerDto } from './dto/heartbeat-answer.dto.js';
import { HeartbeatDto } from './dto/heartbeat.dto.js';

@ApiTags('Agents')
@Controller('agents')
export class AgentsController {
  constructor(private readonly agents: AgentsService) {}

  @Post(':id/heartbeat')
  @HttpCode(200)
  @AgentToken()
  @SkipFallbackAudit()
  @ApiOkResponse({ type: HeartbeatAnswerDto })
  async heartbeat(
    @CurrentCaller() caller: AgentCaller,
    @UuidParam('id', 'Agent') id: string,
    @Body() dto: HeartbeatDto,
  ): Promise<HeartbeatAnswerDto> {
    await this.agents.heartbeat(caller, id, dto);
    return new HeartbeatAnswerDto();
  }
}
