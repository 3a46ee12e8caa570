import { Body, Controller, Delete, Get, Header, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  type UserCaller,
} from '@rmm/access';
import { EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { type Paged, pagedOf } from '@rmm/validation';
import { CreatePartnerWebhookDto } from '../webhooks/dto/create-partner-webhook.dto.js';
import { ListPartnerWebhooksDto, PartnerQueryDto } from '../webhooks/dto/list-partner-webhooks.dto.js';
import { PartnerWebhookDto, PartnerWebhookWithStatsDto } from '../webhooks/dto/partner-webhook.dto.js';
import { RotatedSecretDto, RotateSecretDto } from '../webhooks/dto/rotate-secret.dto.js';
import { UpdateWebhookDto } from '../webhooks/dto/update-webhook.dto.js';
import { DeletedWebhookDto, VOLATILE_WEBHOOK_FIELDS } from '../webhooks/dto/webhook.dto.js';
import { WebhookId } from '../webhooks/webhook-params.js';
import { WebhookSecretsService } from '../webhooks/webhook-secrets.service.js';
import { PartnerWebhooksService } from './partner-webhooks.service.js';

const PartnerWebhookTags = () => EntityTagged<PartnerWebhookWithStatsDto>(...VOLATILE_WEBHOOK_FIELDS);

/** @see docs/reference/webhooks.md */
@ApiTags('Partner webhooks')
@ErrorCodes({ 400: ['invalid_webhook_url', 'unsupported_event_type'] })
@Controller('partner-webhooks')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
export class PartnerWebhooksController {
  constructor(
    private readonly webhooks: PartnerWebhooksService,
    private readonly secrets: WebhookSecretsService,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List the webhooks of a partner, newest first' })
  @ApiOkResponse({ type: pagedOf(PartnerWebhookDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListPartnerWebhooksDto): Promise<Paged<PartnerWebhookDto>> {
    return this.webhooks.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @PartnerWebhookTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Create a webhook for the events of all organizations of a partner' })
  @ErrorCodes({ 409: ['webhook_limit_reached'] })
  @ApiCreatedResponse({ type: PartnerWebhookDto })
  create(
    @CurrentCaller() caller: UserCaller,
    @Query() query: PartnerQueryDto,
    @Body() dto: CreatePartnerWebhookDto,
  ): Promise<PartnerWebhookDto> {
    return this.webhooks.create(caller, query.partnerId, dto);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @PartnerWebhookTags()
  @ApiOperation({ summary: 'Get a webhook of a partner with statistics of its deliveries' })
  @ApiOkResponse({ type: PartnerWebhookWithStatsDto })
  get(@CurrentCaller() caller: UserCaller, @WebhookId() id: string): Promise<PartnerWebhookWithStatsDto> {
    return this.webhooks.get(caller, id);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @PartnerWebhookTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Update a webhook of a partner; masked values keep what is stored' })
  @ApiOkResponse({ type: PartnerWebhookDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: UpdateWebhookDto,
  ): Promise<PartnerWebhookDto> {
    return this.webhooks.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('organizations:write')
  @PartnerWebhookTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Delete a webhook of a partner; its deliveries are purged in the background' })
  @ApiOkResponse({ type: DeletedWebhookDto })
  delete(@CurrentCaller() caller: UserCaller, @WebhookId() id: string): Promise<DeletedWebhookDto> {
    return this.webhooks.delete(caller, id);
  }

  @Post(':id/rotate-secret')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Rotate the signing secret of a webhook of a partner' })
  @ApiOkResponse({ type: RotatedSecretDto })
  rotateSecret(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: RotateSecretDto,
  ): Promise<RotatedSecretDto> {
    return this.secrets.rotate(caller, id, dto, 'partner');
  }
}
