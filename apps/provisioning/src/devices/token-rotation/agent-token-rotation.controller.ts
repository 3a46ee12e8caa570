import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { AgentTokenRotationService } from './agent-token-rotation.service.js';
import { TokenRotationDto } from './dto/token-rotation.dto.js';

@ApiTags('Devices')
@Controller('devices/:id/rotate-agent-token')
export class AgentTokenRotationController {
  constructor(private readonly rotations: AgentTokenRotationService) {}

  @Post()
  @HttpCode(200)
  @RequirePermission('devices:write')
  @ErrorCodes({ 409: ['agent_token_not_active', 'device_decommissioned'] })
  @ApiOperation({
    summary: 'Rotate the token of an agent',
    description:
      'The agent gets its new token with the next heartbeat. The present one is valid until the agent uses the new one, at most 24 hours.',
  })
  @ApiOkResponse({ type: TokenRotationDto })
  rotate(@CurrentCaller() caller: UserCaller, @UuidParam('id', 'Device') id: string): Promise<TokenRotationDto> {
    return this.rotations.request(caller, id);
  }
}
