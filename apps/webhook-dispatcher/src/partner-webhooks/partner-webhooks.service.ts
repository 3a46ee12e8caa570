import { Injectable } from '@nestjs/common';
import { PartnerAccessDenied, PartnerDirectory, type UserCaller } from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';
import { type Paged, toPage } from '@rmm/validation';
import type { CreatePartnerWebhookDto } from '../webhooks/dto/create-partner-webhook.dto.js';
import type { ListPartnerWebhooksDto } from '../webhooks/dto/list-partner-webhooks.dto.js';
import type { PartnerWebhookDto, PartnerWebhookWithStatsDto } from '../webhooks/dto/partner-webhook.dto.js';
import type { UpdateWebhookDto } from '../webhooks/dto/update-webhook.dto.js';
import { toStoredStatus, WebhookMapper } from '../webhooks/webhook.mapper.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';

/** Manages webhooks that get the events of all organizations of a partner. */
@Injectable()
export class PartnerWebhooksService {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly repository: WebhooksRepository,
    private readonly partners: PartnerDirectory,
    private readonly mapper: WebhookMapper,
  ) {}

  /** Lists a page, newest first. @throws ValidationError, PartnerAccessDenied */
  async list(caller: UserCaller, query: ListPartnerWebhooksDto): Promise<Paged<PartnerWebhookDto>> {
    const partnerId = await this.getPartner(caller, query.partnerId);
    const status = query.status && toStoredStatus(query.status);
    const { rows, ...counted } = await this.repository.list(caller, { partnerId, orgId: null, status, page: query });
    return toPage(
      query,
      counted,
      rows.map((row) => this.mapper.toPartnerDto(row)),
    );
  }

  /** @throws WebhookNotFound */
  async get(caller: UserCaller, id: string): Promise<PartnerWebhookWithStatsDto> {
    return this.mapper.toPartnerDtoWithStats(await this.repository.get(caller, id, 'partner'));
  }

  /** @throws ValidationError, PartnerAccessDenied, TooManyPartnerWebhooks, and what `WebhookSettingsService.create` throws */
  async create(
    caller: UserCaller,
    requested: string | undefined,
    dto: CreatePartnerWebhookDto,
  ): Promise<PartnerWebhookDto> {
    const partnerId = await this.getPartner(caller, requested);
    return this.mapper.toPartnerDto(await this.webhooks.createFor(caller, { partnerId, orgId: null }, dto));
  }

  /** @throws as `WebhooksService.update` */
  async update(caller: UserCaller, id: string, dto: UpdateWebhookDto): Promise<PartnerWebhookDto> {
    return this.mapper.toPartnerDto(await this.webhooks.change(caller, id, dto, 'partner'));
  }

  /** @throws WebhookNotFound */
  delete(caller: UserCaller, id: string): Promise<{ success: true }> {
    return this.webhooks.delete(caller, id, 'partner');
  }

  /** Returns the partner of the caller, or the one that a system caller names. @throws ValidationError, PartnerAccessDenied */
  private async getPartner(caller: UserCaller, requested: string | undefined): Promise<string> {
    const partnerId = requested ?? caller.partnerId;
    if (partnerId === null) throw ValidationError.forField('partnerId', 'is required');
    if (partnerId === caller.partnerId) return partnerId;
    if (caller.scope !== 'system' || !(await this.partners.find(partnerId))) throw new PartnerAccessDenied();
    return partnerId;
  }
}
