import {
  Controller,
  Get,
  Header,
  HttpCode,
  Param,
  Post,
  Body,
  Res,
  type StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import {
  AcceptsApiKey,
  AgentToken,
  CurrentCaller,
  RequireMfa,
  type AgentCaller,
  type ApiKeyCaller,
  type UserCaller,
} from '@rmm/access';
import { LimitConcurrency, RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { CONCURRENT_DEV_PUSHES, importingTenant, LIMITS } from '../limits.js';
import { Build, DevPushUploadInterceptor } from './dev-push-upload.interceptor.js';
import type { StoredBuild } from './dev-push-upload.service.js';
import { DevPushesService } from './dev-pushes.service.js';
import { DEV_PUSH_FORM, DevPushFormDto } from './dto/dev-push-form.dto.js';
import { DevPushDto } from './dto/dev-push.dto.js';

interface HeaderResponse {
  setHeader(name: string, value: string): void;
}

/** @see docs/reference/provisioning.md#dev-push */
@ApiTags('Development')
@Controller('dev/push')
export class DevPushController {
  constructor(private readonly pushes: DevPushesService) {}

  @Post()
  @AcceptsApiKey('devices:execute')
  @RequireMfa()
  @UseInterceptors(DevPushUploadInterceptor)
  @LimitConcurrency(CONCURRENT_DEV_PUSHES, importingTenant) // the lowest decorator is the outermost interceptor
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @ErrorCodes({
    403: ['dev_push_disabled'],
    404: ['not_found'],
    413: ['payload_too_large'],
    503: ['dev_push_storage_full'],
  })
  @ApiOperation({
    summary: 'Push a build to the agent of a device',
    description:
      'Its next heartbeat gets a `dev_push` command with an address, from which this agent can download the build once within 5 minutes.',
  })
  @ApiConsumes('multipart/form-data')
  @ApiBody(DEV_PUSH_FORM)
  @ApiOkResponse({ type: DevPushDto })
  push(
    @CurrentCaller() caller: UserCaller | ApiKeyCaller,
    @Build() build: StoredBuild,
    @Body() dto: DevPushFormDto,
  ): Promise<DevPushDto> {
    return this.pushes.push(caller, build, dto);
  }

  @Get('download/:token')
  @AgentToken()
  @RateLimit(LIMITS.agentDownload)
  @Header('Cache-Control', 'no-store')
  @ErrorCodes({ 404: ['not_found'] })
  @ApiParam({ name: 'token', type: String, description: 'Token of the download' })
  @ApiOperation({
    summary: 'Download a pushed build',
    description: 'For the agent it was pushed to, once and within 5 minutes; 404 otherwise.',
  })
  @ApiProduces('application/octet-stream')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary' }, description: '`X-Checksum-Sha256` has 64 hex digits' })
  async download(
    @CurrentCaller() caller: AgentCaller,
    @Param('token') token: string,
    @Res({ passthrough: true }) response: HeaderResponse,
  ): Promise<StreamableFile> {
    const { checksum, file } = await this.pushes.download(caller, token);
    response.setHeader('X-Checksum-Sha256', checksum);
    return file;
  }
}
