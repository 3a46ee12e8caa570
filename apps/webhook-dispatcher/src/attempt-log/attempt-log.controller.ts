import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { type Paged, pagedOf, PageQueryDto } from '@rmm/validation';
import { DeliveryId, WebhookId } from '../webhooks/webhook-params.js';
import { AttemptLogService } from './attempt-log.service.js';
import { AttemptDto } from './dto/attempt.dto.js';

@ApiTags('Webhooks')
@Controller('webhooks/:id/deliveries/:deliveryId/attempts')
export class AttemptLogController {
  constructor(private readonly attempts: AttemptLogService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List the attempts of a delivery with their headers, oldest first' })
  @ApiOkResponse({ type: pagedOf(AttemptDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @DeliveryId() deliveryId: string,
    @Query() query: PageQueryDto,
  ): Promise<Paged<AttemptDto>> {
    return this.attempts.list(caller, id, deliveryId, query);
  }
}
