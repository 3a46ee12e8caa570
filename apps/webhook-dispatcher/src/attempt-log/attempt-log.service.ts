import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { type Paged, type PageQueryDto, toPage } from '@rmm/service-kit';
import type { WebhookHeader } from '../webhooks/webhook-headers.js';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { AttemptLogRepository, type AttemptRow, type LoggedDelivery } from './attempt-log.repository.js';
import type { AttemptDto } from './dto/attempt.dto.js';
import { parseResponseHeaders } from './response-headers.js';
import { requestHeadersOf } from './request-headers.js';

@Injectable()
export class AttemptLogService {
  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly repository: AttemptLogRepository,
    private readonly sealing: WebhookSealingService,
  ) {}

  /** Oldest first. @throws WebhookNotFound, DeliveryNotFound */
  async list(
    caller: UserCaller,
    webhookId: string,
    deliveryId: string,
    query: PageQueryDto,
  ): Promise<Paged<AttemptDto>> {
    await this.webhooks.get(caller, webhookId);
    const delivery = await this.repository.delivery(caller, webhookId, deliveryId);
    const { limit, page } = query;
    const { rows, total } = await this.repository.list(caller, delivery, { limit, offset: (page - 1) * limit });
    return toPage(
      query,
      total,
      rows.map((row) => this.toDto(row, webhookId, delivery)),
    );
  }

  private toDto(row: AttemptRow, webhookId: string, delivery: LoggedDelivery): AttemptDto {
    const own = this.opened(webhookId, row.headers ?? []);
    return {
      attempt: row.attempt,
      startedAt: row.startedAt.toISOString(),
      durationMs: row.durationMs,
      outcome: row.outcome,
      responseStatus: row.responseStatus,
      requestHeaders: requestHeadersOf(row.names ?? [], own, delivery, row.startedAt),
      responseHeaders: parseResponseHeaders(row.responseHeaders),
      responseBody: row.responseBody,
      errorMessage: row.errorMessage,
    };
  }

  /** One that cannot be opened any more is left out, and so shown masked. */
  private opened(webhookId: string, sealed: readonly WebhookHeader[]): WebhookHeader[] {
    return sealed.flatMap((header) => {
      try {
        return this.sealing.openHeaders(webhookId, [header]);
      } catch {
        return [];
      }
    });
  }
}
