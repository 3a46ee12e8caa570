import { Controller, Post, Req } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiForbiddenResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AcceptsApiKey, RequireMfa } from '@rmm/access';
import { ValidationError, type KitRequest } from '@rmm/service-kit';
import { DevPushDisabled } from './dev-push.errors.js';
import { DEV_PUSH_FORM, hasFormParts } from './dto/dev-push-form.dto.js';

/** Accepts API keys. The form is not read, since pushing is not built yet. @see docs/reference/provisioning.md */
@ApiTags('Development')
@Controller('dev/push')
export class DevPushController {
  @Post()
  @AcceptsApiKey('devices:execute')
  @RequireMfa()
  @ApiOperation({
    summary: 'Push a build to the agent of a device',
    description: 'Not available yet: a valid request of an authorized caller fails with 403 `dev_push_disabled`.',
  })
  @ApiConsumes('multipart/form-data')
  @ApiBody(DEV_PUSH_FORM)
  @ApiForbiddenResponse({ description: '`dev_push_disabled`' })
  push(@Req() request: KitRequest): never {
    if (hasFormParts(request)) throw new DevPushDisabled();
    const problem = ['is required'];
    throw new ValidationError(undefined, { fieldErrors: { agentId: problem, binary: problem } });
  }
}
