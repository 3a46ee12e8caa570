import { Body, Controller, Header, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AgentToken, CurrentCaller, SkipFallbackAudit, type AgentCaller } from '@rmm/access';
import { UuidParam } from '@rmm/validation';
import { AgentsService } from './agents.service.js';
import { HeartbeatResponseDto } from './dto/heartbeat-response.dto.js';
import { HeartbeatDto } from './dto/heartbeat.dto.js';

@ApiTags('Agents')
@Controller('agents')
export class AgentsController {
  constructor(private readonly agents: AgentsService) {}

  @Post(':id/heartbeat')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @AgentToken()
  @SkipFallbackAudit()
  @ApiOperation({ summary: 'Send a heartbeat', description: 'Reports the state of the device and returns its config.' })
  @ApiOkResponse({ type: HeartbeatResponseDto })
  heartbeat(
    @CurrentCaller() caller: AgentCaller,
    @UuidParam('id', 'Agent') id: string,
    @Body() dto: HeartbeatDto,
  ): Promise<HeartbeatResponseDto> {
    return this.agents.storeHeartbeat(caller, id, dto);
  }
}
