import { AcceptsApiKey, RequireMfa } from '@rmm/access';
import { Controller, Post, Req } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiForbiddenResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ValidationError, type KitRequest } from '@rmm/service-kit';
import { carriesForm, DEV_PUSH_FORM } from './dev-push-form.js';
import { DevPushDisabled } from './dev-push.errors.js';

/** A surface of API keys. The form stays unread: nothing is done with its file yet. @see SPEC.md 5.2, CONTRACT.md 4.10.9 */
@ApiTags('Development')
@Controller('dev/push')
export class DevPushController {
  @Post()
  @AcceptsApiKey('devices:execute')
  @RequireMfa()
  @ApiOperation({
    summary: 'Push a build to the agent of one device',
    description:
      'Pushing is not built yet: a well-formed request of somebody who may push is answered 403 `dev_push_disabled`.',
  })
  @ApiConsumes('multipart/form-data')
  @ApiBody(DEV_PUSH_FORM)
  @ApiForbiddenResponse({ description: '`dev_push_disabled`, whatever the form holds' })
  push(@Req() request: KitRequest): never {
    if (carriesForm(request)) throw new DevPushDisabled();
    const text = ['is required'];
    throw new ValidationError(undefined, { fieldErrors: { agentId: text, binary: text } });
  }
}
