import { Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  type UserCaller,
} from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { type ListPage, listPageOf } from '@rmm/validation';
import { DeadLettersService } from '../dead-letters/dead-letters.service.js';
import { DeletedDeadLetterDto, PartnerDeadLetterDto } from '../dead-letters/dto/dead-letter.dto.js';
import { ListDeadLettersDto } from '../dead-letters/dto/list-dead-letters.dto.js';
import { AcceptedDeliveryDto } from '../deliveries/dto/delivery.dto.js';
import { DeadLetterId } from '../webhooks/webhook-params.js';

/** Registered before `/partner-webhooks/:id`. @see docs/reference/webhooks.md */
@ApiTags('Partner webhooks')
@ErrorCodes({ 409: ['webhook_not_active'] })
@Controller('partner-webhooks/dead-letters')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
export class PartnerDeadLettersController {
  constructor(private readonly deadLetters: DeadLettersService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List deliveries of webhooks of the partner that used up their retries, newest first' })
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOkResponse({ type: listPageOf(PartnerDeadLetterDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @Query() query: ListDeadLettersDto,
  ): Promise<ListPage<PartnerDeadLetterDto>> {
    return this.deadLetters.list(caller, query, 'partner');
  }

  @Post(':jobId/retry')
  @HttpCode(202)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Retry a dead letter of a webhook of a partner as a new delivery' })
  @ApiAcceptedResponse({ type: AcceptedDeliveryDto })
  retry(@CurrentCaller() caller: UserCaller, @DeadLetterId() jobId: string): Promise<AcceptedDeliveryDto> {
    return this.deadLetters.retry(caller, jobId, 'partner');
  }

  @Delete(':jobId')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Delete a dead letter of a webhook of a partner; its delivery stays failed' })
  @ApiOkResponse({ type: DeletedDeadLetterDto })
  delete(@CurrentCaller() caller: UserCaller, @DeadLetterId() jobId: string): Promise<DeletedDeadLetterDto> {
    return this.deadLetters.delete(caller, jobId, 'partner');
  }
}
