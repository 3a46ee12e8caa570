import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { type Paged, type PageQueryDto, toPage } from '@rmm/validation';
import type { WebhookScope } from '../webhooks/webhook.entity.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { AttemptLogRepository } from './attempt-log.repository.js';
import { AttemptMapper } from './attempt.mapper.js';
import type { AttemptDto } from './dto/attempt.dto.js';

@Injectable()
export class AttemptLogService {
  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly repository: AttemptLogRepository,
    private readonly mapper: AttemptMapper,
  ) {}

  /** Lists a page, oldest first. @throws WebhookNotFound, DeliveryNotFound */
  async list(
    caller: UserCaller,
    webhookId: string,
    deliveryId: string,
    query: PageQueryDto,
    scope: WebhookScope = 'organization',
  ): Promise<Paged<AttemptDto>> {
    await this.webhooks.get(caller, webhookId, scope);
    const delivery = await this.repository.getDelivery(caller, webhookId, deliveryId);
    const { rows, ...counted } = await this.repository.listAttempts(caller, delivery, query);
    return toPage(
      query,
      counted,
      rows.map((row) => this.mapper.toDto(row, webhookId, delivery)),
    );
  }
}
