import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { type Paged, pagedOf, UuidParam } from '@rmm/service-kit';
import { DeliveriesService } from './deliveries.service.js';
import { type AcceptedDelivery, DeliveryDto } from './dto/delivery.dto.js';
import { ListDeliveriesDto } from './dto/list-deliveries.dto.js';
import { TestWebhookDto } from './dto/test-webhook.dto.js';

const WebhookId = () => UuidParam('id', 'Webhook');

/** @see SPEC.md 4.9, CONTRACT.md 4.9 */
@ApiTags('Webhooks')
@Controller('webhooks/:id')
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @Get('deliveries')
  @RequirePermission('organizations:read')
  @ApiOkResponse({ type: pagedOf(DeliveryDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Query() query: ListDeliveriesDto,
  ): Promise<Paged<DeliveryDto>> {
    return this.deliveries.list(caller, id, query);
  }

  @Post('test')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @ApiAcceptedResponse({ description: 'The delivery is pending' })
  test(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: TestWebhookDto,
  ): Promise<AcceptedDelivery> {
    return this.deliveries.test(caller, id, dto);
  }

  @Post('retry/:deliveryId')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @ApiAcceptedResponse({ description: 'The new delivery is pending' })
  retry(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @UuidParam('deliveryId', 'Delivery') deliveryId: string,
  ): Promise<AcceptedDelivery> {
    return this.deliveries.retry(caller, id, deliveryId);
  }
}
