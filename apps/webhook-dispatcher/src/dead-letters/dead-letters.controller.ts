import { Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { type ListPage, listPageOf } from '@rmm/validation';
import { AcceptedDeliveryDto } from '../deliveries/dto/delivery.dto.js';
import { DeadLetterId } from '../webhooks/webhook-params.js';
import { DeadLettersService } from './dead-letters.service.js';
import { DeadLetterDto, DeletedDeadLetterDto } from './dto/dead-letter.dto.js';
import { ListDeadLettersDto } from './dto/list-dead-letters.dto.js';

/** Registered before `/webhooks/:id`. @see docs/reference/webhooks.md */
@ApiTags('Webhooks')
@ErrorCodes({ 400: ['organization_context_required'], 409: ['webhook_not_active'] })
@Controller('webhooks/dead-letters')
export class DeadLettersController {
  constructor(private readonly deadLetters: DeadLettersService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List deliveries that used up their retries, newest first' })
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOkResponse({ type: listPageOf(DeadLetterDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListDeadLettersDto): Promise<ListPage<DeadLetterDto>> {
    return this.deadLetters.list(caller, query);
  }

  @Post(':jobId/retry')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @ApiOperation({ summary: 'Retry a dead letter as a new delivery' })
  @ApiAcceptedResponse({ type: AcceptedDeliveryDto })
  retry(@CurrentCaller() caller: UserCaller, @DeadLetterId() jobId: string): Promise<AcceptedDeliveryDto> {
    return this.deadLetters.retry(caller, jobId);
  }

  @Delete(':jobId')
  @RequirePermission('organizations:write')
  @ApiOperation({ summary: 'Delete a dead letter; its delivery stays failed' })
  @ApiOkResponse({ type: DeletedDeadLetterDto })
  delete(@CurrentCaller() caller: UserCaller, @DeadLetterId() jobId: string): Promise<DeletedDeadLetterDto> {
    return this.deadLetters.delete(caller, jobId);
  }
}
