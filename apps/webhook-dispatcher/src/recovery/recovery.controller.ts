import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { WebhookId } from '../webhooks/webhook-params.js';
import { RecoveredDto, RecoverWebhookDto } from './dto/recover-webhook.dto.js';
import { RecoveryService } from './recovery.service.js';

/** @see docs/reference/webhooks.md */
@ApiTags('Webhooks')
@ErrorCodes({ 409: ['webhook_not_active'] })
@Controller('webhooks/:id/recover')
export class RecoveryController {
  constructor(private readonly recovery: RecoveryService) {}

  @Post()
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @ApiOperation({ summary: 'Send failed deliveries of a period again, or retry waiting ones now' })
  @ApiAcceptedResponse({ type: RecoveredDto })
  recover(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: RecoverWebhookDto,
  ): Promise<RecoveredDto> {
    return this.recovery.recover(caller, id, dto);
  }
}
