import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { type Paged, pagedOf } from '@rmm/validation';
import { CreateWebhookDto } from './dto/create-webhook.dto.js';
import { EventCatalogDto } from './dto/event-catalog.dto.js';
import { ListWebhooksDto } from './dto/list-webhooks.dto.js';
import { UpdateWebhookDto } from './dto/update-webhook.dto.js';
import { DeletedWebhookDto, VOLATILE_WEBHOOK_FIELDS, WebhookDto, WebhookWithStatsDto } from './dto/webhook.dto.js';
import { EVENT_CATALOG } from './event-catalog.constants.js';
import { WebhookId } from './webhook-params.js';
import { WebhooksService } from './webhooks.service.js';

const WebhookTags = () => EntityTagged<WebhookWithStatsDto>(...VOLATILE_WEBHOOK_FIELDS);

/** @see docs/reference/webhooks.md */
@ApiTags('Webhooks')
@ErrorCodes({ 400: ['invalid_webhook_url', 'organization_context_required', 'unsupported_event_type'] })
@Controller('webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List the webhooks of an organization, newest first' })
  @ApiOkResponse({ type: pagedOf(WebhookDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListWebhooksDto): Promise<Paged<WebhookDto>> {
    return this.webhooks.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @WebhookTags()
  @ApiOperation({ summary: 'Create a webhook' })
  @ErrorCodes({ 409: ['webhook_limit_reached'] })
  @ApiCreatedResponse({ type: WebhookDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateWebhookDto): Promise<WebhookDto> {
    return this.webhooks.create(caller, dto);
  }

  @Get('event-types')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List the event types and wildcards a webhook may subscribe to' })
  @ApiOkResponse({ type: EventCatalogDto })
  eventTypes(): EventCatalogDto {
    return EVENT_CATALOG;
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @WebhookTags()
  @ApiOperation({ summary: 'Get a webhook with statistics of its deliveries' })
  @ApiOkResponse({ type: WebhookWithStatsDto })
  get(@CurrentCaller() caller: UserCaller, @WebhookId() id: string): Promise<WebhookWithStatsDto> {
    return this.webhooks.get(caller, id);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @WebhookTags()
  @ApiOperation({ summary: 'Update a webhook; masked values keep what is stored' })
  @ApiOkResponse({ type: WebhookDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: UpdateWebhookDto,
  ): Promise<WebhookDto> {
    return this.webhooks.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('organizations:write')
  @WebhookTags()
  @ApiOperation({ summary: 'Delete a webhook; its deliveries are purged in the background' })
  @ApiOkResponse({ type: DeletedWebhookDto })
  delete(@CurrentCaller() caller: UserCaller, @WebhookId() id: string): Promise<DeletedWebhookDto> {
    return this.webhooks.delete(caller, id);
  }
}
