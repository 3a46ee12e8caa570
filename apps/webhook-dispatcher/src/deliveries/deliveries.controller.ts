import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { type ListPage, listPageOf } from '@rmm/validation';
import { DeliveryId, WebhookId } from '../webhooks/webhook-params.js';
import { DeliveriesService } from './deliveries.service.js';
import { AcceptedDeliveryDto, DeliveryDto } from './dto/delivery.dto.js';
import { ListDeliveriesDto } from './dto/list-deliveries.dto.js';
import { TestWebhookDto } from './dto/test-webhook.dto.js';

/** @see docs/reference/webhooks.md */
@ApiTags('Webhooks')
@ErrorCodes({ 400: ['unsupported_event_type', 'delivery_not_failed'], 409: ['webhook_not_active'] })
@Controller('webhooks/:id')
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @Get('deliveries')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List the deliveries of a webhook, newest first' })
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOkResponse({ type: listPageOf(DeliveryDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Query() query: ListDeliveriesDto,
  ): Promise<ListPage<DeliveryDto>> {
    return this.deliveries.list(caller, id, query);
  }

  @Post('test')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @ApiOperation({ summary: 'Send a test delivery' })
  @ApiBody({ type: TestWebhookDto, required: false })
  @ApiAcceptedResponse({ type: AcceptedDeliveryDto })
  test(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: TestWebhookDto,
  ): Promise<AcceptedDeliveryDto> {
    return this.deliveries.test(caller, id, dto);
  }

  @Post('retry/:deliveryId')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @ApiOperation({ summary: 'Retry a failed delivery as a new one' })
  @ApiAcceptedResponse({ type: AcceptedDeliveryDto })
  retry(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @DeliveryId() deliveryId: string,
  ): Promise<AcceptedDeliveryDto> {
    return this.deliveries.retry(caller, id, deliveryId);
  }
}
