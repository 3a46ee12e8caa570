import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  type UserCaller,
} from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { type ListPage, listPageOf, type Paged, pagedOf, PageQueryDto } from '@rmm/validation';
import { AttemptLogService } from '../attempt-log/attempt-log.service.js';
import { AttemptDto } from '../attempt-log/dto/attempt.dto.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { AcceptedDeliveryDto, PartnerDeliveryDto } from '../deliveries/dto/delivery.dto.js';
import { ListDeliveriesDto } from '../deliveries/dto/list-deliveries.dto.js';
import { TestWebhookDto } from '../deliveries/dto/test-webhook.dto.js';
import { RecoveredDto, RecoverWebhookDto } from '../recovery/dto/recover-webhook.dto.js';
import { RecoveryService } from '../recovery/recovery.service.js';
import { DeliveryId, WebhookId } from '../webhooks/webhook-params.js';

/** @see docs/reference/webhooks.md */
@ApiTags('Partner webhooks')
@ErrorCodes({ 400: ['unsupported_event_type', 'delivery_not_failed'], 409: ['webhook_not_active'] })
@Controller('partner-webhooks/:id')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
export class PartnerDeliveriesController {
  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly attempts: AttemptLogService,
    private readonly recovery: RecoveryService,
  ) {}

  @Get('deliveries')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List the deliveries of a webhook of a partner, newest first' })
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOkResponse({ type: listPageOf(PartnerDeliveryDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Query() query: ListDeliveriesDto,
  ): Promise<ListPage<PartnerDeliveryDto>> {
    return this.deliveries.list(caller, id, query, 'partner');
  }

  @Get('deliveries/:deliveryId/attempts')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List the attempts of a delivery of a partner with their headers, oldest first' })
  @ApiOkResponse({ type: pagedOf(AttemptDto) })
  listAttempts(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @DeliveryId() deliveryId: string,
    @Query() query: PageQueryDto,
  ): Promise<Paged<AttemptDto>> {
    return this.attempts.list(caller, id, deliveryId, query, 'partner');
  }

  @Post('test')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Send a test delivery to a webhook of a partner' })
  @ApiBody({ type: TestWebhookDto, required: false })
  @ApiAcceptedResponse({ type: AcceptedDeliveryDto })
  test(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: TestWebhookDto,
  ): Promise<AcceptedDeliveryDto> {
    return this.deliveries.test(caller, id, dto, 'partner');
  }

  @Post('retry/:deliveryId')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Retry a failed delivery of a webhook of a partner as a new one' })
  @ApiAcceptedResponse({ type: AcceptedDeliveryDto })
  retry(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @DeliveryId() deliveryId: string,
  ): Promise<AcceptedDeliveryDto> {
    return this.deliveries.retry(caller, id, deliveryId, 'partner');
  }

  @Post('recover')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Send failed deliveries of a webhook of a partner again, or retry waiting ones now' })
  @ApiAcceptedResponse({ type: RecoveredDto })
  recover(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: RecoverWebhookDto,
  ): Promise<RecoveredDto> {
    return this.recovery.recover(caller, id, dto, 'partner');
  }
}
